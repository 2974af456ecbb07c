import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The receiver's reports: its port, then the time of each message to `/timed` (epoch ms). */
export type ReceiverReport = { port: number } | { id: string; atMs: number };

// A separate process, so that its CPU is not the worker's. It answers 200, except to /hang, which it never answers.
const server = createServer((request, response) => {
  if (request.url === '/timed') {
    const report: ReceiverReport = { id: String(request.headers['webhook-id']), atMs: Date.now() };
    process.send?.(report);
  }
  request.resume();
  if (request.url?.startsWith('/hang') !== true) request.on('end', () => response.end());
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit());
