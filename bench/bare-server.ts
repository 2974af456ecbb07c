import { once } from 'node:events';
import { uws } from '../src/http/uws.ts';

/**
 * What an HTTP request costs here at least: a route that reads the body and answers. A process of its own; sends
 * its parent the port. Ends with it.
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
