import { createServer, type AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { connectAgain } from '../../src/redis/outage.ts';

test('a connection that asks the Sentinels for the master keeps asking', async () => {
  let asked = 0;
  // It accepts every question and answers none.
  const sentinel = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      asked += 1;
      connectAgain(redis);
      socket.destroy();
    });
  });
  await new Promise<void>((resolve) => sentinel.listen(0, '127.0.0.1', resolve));
  const { port } = sentinel.address() as AddressInfo;
  const redis = new Redis({ sentinels: [{ host: '127.0.0.1', port }], name: 'nobody', maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  try {
    await expect.poll(() => asked).toBeGreaterThan(3);
    expect(redis.status).toBe('connecting');
  } finally {
    redis.disconnect();
    sentinel.close();
  }
});
