import { createServer } from 'node:net';
import { StartError } from '../start-error.ts';

/** Where something is to listen, and the variables that say so. */
export interface Listener {
  host: string;
  port: number;
  hostVariable: string;
  portVariable: string;
}

/**
 * Throws a `StartError` if something listens on a port already. Frontends share their port, so without this
 * look a second Laurel would quietly take half of the first one's connections.
 */
export async function requireFreePorts(listeners: readonly Listener[]): Promise<void> {
  for (const { host, port, hostVariable, portVariable } of listeners) {
    const code = await tryListen(host, port);
    if (code === null) continue;
    if (code === 'EADDRINUSE') {
      throw new StartError(
        `Port ${port} is in use by another program. Stop that one, or set ${portVariable} to another port.`,
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
