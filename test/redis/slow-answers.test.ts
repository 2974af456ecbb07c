import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { connectRedis } from '../../src/redis/client.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const own = await connectedRedis();

test('a start finds a Redis that needs more than a second for its first answer', async () => {
  const { host, port } = own.options;
  const slow = createServer((socket) => {
    const server = connect(port!, host!);
    for (const each of [socket, server]) each.on('error', () => undefined);
    socket.pipe(server);
    server.on('data', (data) => void sleep(1_200).then(() => socket.write(data)));
    socket.on('close', () => server.destroy());
  });
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
  const { port: slowPort } = slow.address() as AddressInfo;
  try {
    const redis = await connectRedis(`redis://127.0.0.1:${slowPort}`, 60_000);
    expect(redis).toBeInstanceOf(Redis);
    redis.disconnect();
  } finally {
    slow.close();
  }
});
