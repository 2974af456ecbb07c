import { beforeAll, expect, test } from 'vitest';
import type { Difference } from '../../../src/engine/rebuild/confirmation.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { rebuildByHand } from './by-hand.ts';
import { QUARANTINED } from '../../../src/packed/guard-fields.ts';
import { aliasesKey, quarantineKey } from '../../../src/redis/keys.ts';
import { knownPart } from '../../../src/redis/parts.ts';
import { opened } from '../../stack/opened.ts';

let redis: TestLaurel['redis'];

const laurel = opened(() => startLaurel({ cluster: true, configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  redis = await laurel.connect();
  await redisReady(redis);
  for (let n = 0; n < 30; n += 1) await event(n);
});

async function event(n: number): Promise<void> {
  const user = { id: `user ${n % 6}`, attributes: { plan: n % 2 === 0 ? 'free' : 'pro' } };
  const headers = { 'Idempotency-Key': `key ${n}` };
  expect((await laurel.app.post('/v1/metrics/flips/event', { user, value: 2.5 }, { headers })).status).toBe(201);
}

async function differences(): Promise<Difference[]> {
  const found: Difference[] = [];
  const count = await verify({ redis, pool: laurel.pool, onDifference: (difference) => found.push(difference) });
  expect(count).toBe(found.length);
  return found;
}

const keyLike = async (pattern: string): Promise<string> => (await redis.keys(pattern)).toSorted()[0]!;

test('finds no difference, also while events continue', async () => {
  let going = true;
  const traffic = (async () => {
    for (let n = 100; going; n += 1) await event(n);
  })();
  expect(await differences()).toEqual([]);
  going = false;
  await traffic;
  expect(await differences()).toEqual([]);
});

test('finds exactly the planted differences; a rebuild repairs them', async () => {
  const [board, points, bucket] = [
    await keyLike('{s0}:0:b:*'),
    await keyLike('{s0}:0:p:*'),
    await keyLike('{s0}:0:i:*'),
  ];
  const [field] = await redis.hkeys(bucket);
  await redis.set('{s0}:0:u:nobody', (await redis.getBuffer('{s0}:0:u:user 1'))!);
  await redis.set('{s0}:0:u:user 2', (await redis.getBuffer('{s0}:0:u:user 3'))!);
  await redis.del('{s0}:0:u:user 4');
  const [onBoard] = await redis.zrange(board, '0', '0');
  await redis.zincrby(board, 0.5, onBoard!);
  await redis.hincrby(points, '7000000', 1);
  await redis.hincrby('{s0}:0:n', 'users', 1);
  await redis.hset('{s0}:0:n', 'a999', 3);
  await redis.hdel(bucket, field!);
  await redis.hset(bucket, 'AAAAAAAAAAAAAAAA', 1_700_000_000_000);
  const groups = await keyLike('{s0}:0:g:*');
  await redis.srem(groups, '3:pro');
  await redis.sadd(groups, '4:gone');
  await redis.sadd('{s0}:0:g:999:20000', '3:pro');
  await redis.hset('{s1}:1:n', 'users', 2);
  const part = knownPart(redis, 0, 'nobody');
  await redis.hset(aliasesKey(part), 'nobody', 'user 1');
  await redis.hset(quarantineKey(part), QUARANTINED.count, 1);

  const found = await differences();
  expect(found.map(({ key, part }) => `${key} ${part}`).toSorted()).toEqual(
    [
      '{s0}:0:u:nobody ',
      '{s0}:0:u:user 2 ',
      '{s0}:0:u:user 4 ',
      `${board} ${onBoard}`,
      `${points} `,
      '{s0}:0:n users',
      '{s0}:0:n a999',
      `${bucket} ${field}`,
      `${bucket} AAAAAAAAAAAAAAAA`,
      `${groups} 3:pro`,
      '{s0}:0:g:999:20000 ',
      '{s1}:1:n users',
      `${aliasesKey(part)} `,
      `${quarantineKey(part)} `,
    ].toSorted(),
  );
  expect(found.find(({ key }) => key === points)).toMatchObject({
    redis: expect.stringContaining('7000000: 1'),
    postgres: expect.not.stringContaining('7000000'),
  });

  await rebuildByHand(laurel, redis);
  expect(await differences()).toEqual([]);
});

test('an outbox and batches that are behind Postgres, and a generation that was already used', async () => {
  await event(1_000_001);
  expect((await laurel.admin.delete('/v1/users?ids=user 5')).status).toBe(200);
  await event(1_000_001);
  await redis.hset('{s0}:0:n', 'd', 0);
  const { rows } = await laurel.pool.query(
    `UPDATE outbox_cursors SET stream_id = '9999999999999-0', batch_progress = '5-0:3' WHERE shard = 3 RETURNING shard`,
  );
  expect(rows).toEqual([{ shard: 3 }]);
  expect(await differences()).toEqual([
    { key: '{s3}:outbox', part: '', redis: 'nothing', postgres: '9999999999999-0' },
    { key: '{s3}:batch-progress', part: '', redis: 'nothing', postgres: '5-0:3' },
    { key: '{s0}:0:n', part: 'd', redis: '0', postgres: '1' },
  ]);
});
