import { createServer, type AddressInfo, type Server } from 'node:net';
import { expect } from 'vitest';
import { freePort } from '../src/local/free-ports.ts';

/** The reason of a rejected promise. */
export const reasonOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.unreachable('it was to fail'),
    (reason: unknown) => reason as Error,
  );

/** A server that accepts connections and never answers. */
export async function muteServer(): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => socket.resume());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, server };
}

/** A port without a listener, which no other test's listener or connection gets either. */
export const deadPort = (): Promise<number> => freePort();
