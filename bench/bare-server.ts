import { once } from 'node:events';
import { uws } from '../src/http/uws.ts';

/**
 * The minimum cost of an HTTP request on this machine: a route that reads the body and answers. Runs as a separate process,
 * sends the port to its parent, and ends with it.
 */
const app = uws().App();
app.post('/*', (res) => {
  res.onAborted(() => undefined);
  res.onData((_chunk, isLast) => {
    if (isLast)
      res.cork(() => res.writeStatus('201 Created').writeHeader('Content-Type', 'application/json').end('{}'));
  });
});
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('The bare server found no port.');
  process.send?.(uws().us_socket_local_port(socket));
});
await once(process, 'disconnect');
process.exit(0);
