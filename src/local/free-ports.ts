import { createServer } from 'node:net';
import { StartError } from '../start-error.ts';

export interface Listener {
  host: string;
  port: number;
  hostVariable: string;
  portVariable: string;
}

/** Throws a `StartError` if a port is in use: a second Laurel would silently share it. */
export async function requireFreePorts(listeners: readonly Listener[]): Promise<void> {
  for (const { host, port, hostVariable, portVariable } of listeners) {
    const code = await tryListen(host, port);
    if (code === null) continue;
    if (code === 'EADDRINUSE') {
      throw new StartError(
        `Port ${port} is in use by another program. Stop that program, or set ${portVariable} to another port.`,
      );
    }
    throw new StartError(
      `Laurel cannot listen on ${host}, port ${port} (${code}); see ${hostVariable} and ${portVariable}.`,
    );
  }
}

function tryListen(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

/** Below the ports that Linux assigns to outgoing connections, which could take the port before its server starts. */
const FIRST_PORT = 10_000;
const PORTS = 22_000;

/** Processes start far apart, so that two of them do not choose the same port before either listens on it. */
let next = (process.pid * 997) % PORTS;

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS; tries += 1) {
    const port = FIRST_PORT + next;
    next = (next + 1) % PORTS;
    if (await isFree(port)) return port;
  }
  throw new Error(`All ports from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1} of 127.0.0.1 are in use`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1' }, () => server.close(() => resolve(true)));
  });
}
