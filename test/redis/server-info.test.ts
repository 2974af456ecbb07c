import { expect, test } from 'vitest';
import { readRedisProcessId, RedisIsReplica } from '../../src/redis/server-info.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const redis = await connectedRedis();

test('identifies a master by its process and its replication history; refuses a replica', async () => {
  const info = await redis.info();
  const ids = ['run_id', 'master_replid'].map((name) => new RegExp(`^${name}:([0-9a-f]{40})\\r$`, 'm').exec(info)![1]);
  expect(await readRedisProcessId(redis)).toBe(ids.join('.'));
  await redis.replicaof('127.0.0.1', 1);
  await expect(readRedisProcessId(redis)).rejects.toBeInstanceOf(RedisIsReplica);
  await redis.replicaof('NO', 'ONE');
});
