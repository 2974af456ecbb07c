import type { Redis } from 'ioredis';
import { v7 as uuid } from 'uuid';
import { repliesOf } from './commands.ts';
import { messageTestsKey } from './keys.ts';

/**
 * Notes a test of a template that a tenant is about to send, for all processes. Returns `null`, or, if the tenant has sent `most` in the
 * last `withinMs`, after how long it may send another (ms). Tests that begin at the same moment may all be refused.
 */
export async function noteMessageTest(
  redis: Redis,
  tenantNo: number,
  { most, withinMs, nowMs }: { most: number; withinMs: number; nowMs: number },
): Promise<number | null> {
  const key = messageTestsKey(tenantNo);
  const id = uuid();
  const commands = redis
    .multi()
    .zremrangebyscore(key, 0, nowMs - withinMs)
    .zadd(key, nowMs, id)
    .zcard(key)
    .zrange(key, '0', '0', 'WITHSCORES')
    .pexpire(key, withinMs);
  const [, , count, [, oldestMs]] = await repliesOf<[number, number, number, [string, string], number]>(commands);
  if (count <= most) return null;
  await redis.zrem(key, id);
  return Number(oldestMs) + withinMs - nowMs;
}
