import { createServer } from 'node:http';
import type { Log } from '../src/log/log.ts';
import { StartError } from '../src/start-error.ts';

/** Of the text that is answered. */
const TEXT = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' };

/**
 * Answers GET `/metrics` with what `read` returns, and `/healthz`, on a port of a worker's own. Resolves with what closes it;
 * throws a `StartError` where the port cannot be taken.
 */
export async function openMetricsPort(
  { host, port }: { host: string; port: number },
  read: () => Promise<string>,
  log: Log,
): Promise<() => Promise<void>> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (path === '/healthz') return void response.end('ok\n');
    if (path !== '/metrics') return void response.writeHead(404).end();
    read().then(
      (text) => response.writeHead(200, TEXT).end(text),
      (error: unknown) => {
        log.warn({ err: error }, 'the metrics cannot be read');
        response.writeHead(503).end();
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new StartError(`A worker cannot listen on ${host}, port ${port} (${error.code}); see METRICS_PORT.`)),
    );
    server.listen(port, host, resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}
