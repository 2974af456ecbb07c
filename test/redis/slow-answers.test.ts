import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { connectRedis } from '../../src/redis/client.ts';
import { connectedRedis } from '../stack/connected-redis.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';

const { options } = await connectedRedis();

test('a start finds a Redis that needs more than a second for its first answer', async () => {
  const slow = new CuttingProxy(`redis://${options.host!}:${options.port!}`, 1_200);
  onTestFinished(() => slow.close());
  const redis = await connectRedis(await slow.listen(), 60_000);
  expect(redis).toBeInstanceOf(Redis);
  redis.disconnect();
});
