import { createServer, type AddressInfo, type Server } from 'node:net';
import { expect } from 'vitest';

/** What a promise is rejected with. */
export const reasonOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.unreachable('it was to fail'),
    (reason: unknown) => reason as Error,
  );

/** A server that takes connections and never says a word. */
export async function muteServer(): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => socket.resume());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, server };
}

/** A port that nobody listens on. */
export async function deadPort(): Promise<number> {
  const { port, server } = await muteServer();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
