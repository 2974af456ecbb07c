import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startOwnServer } from './own-server.ts';

test('does not return a server whose port is taken, even if another server answers there', async () => {
  const taken = createServer((socket) => socket.destroy());
  taken.listen(0, '127.0.0.1');
  await once(taken, 'listening');
  onTestFinished(async () => {
    taken.close();
    await once(taken, 'close');
  });
  const { port } = taken.address() as AddressInfo;
  expect(await startOwnServer(['--port', String(port), '--save', ''], `redis://127.0.0.1:${port}`)).toBe(null);
});
