import { createServer } from 'node:net';
import { StartError } from './start-error.ts';

/**
 * Throws a `StartError` if something listens on a port already. Frontends share their port, so without this
 * look a second Laurel would quietly take half of the first one's connections.
 */
export async function requireFreePorts(host: string, ports: Readonly<Record<string, number>>): Promise<void> {
  for (const [variable, port] of Object.entries(ports)) {
    const code = await tryListen(host, port);
    if (code === null) continue;
    if (code === 'EADDRINUSE') {
      throw new StartError(
        `Port ${port} is in use by another program. Stop that one, or set ${variable} to another port.`,
      );
    }
    throw new StartError(`Laurel cannot listen on ${host}, port ${port} (${code}); see HOST and ${variable}.`);
  }
}

function tryListen(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
