import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import { idempotencyDigest } from '../../../src/engine/ids/event-id.ts';
import { KeyAgeing } from '../../../src/engine/idempotency/key-ageing.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { rebuildByHand } from '../rebuild/by-hand.ts';
import { emptyRedis } from '../../stack/several-redis.ts';

/** Keys that a version without a secret has seen used, beside keys of now. */
const DAY_MS = 86_400_000;
let laurel: TestLaurel;
let clock: FixedClock;
let redis: TestLaurel['redis'];

beforeEach(async () => {
  clock = new FixedClock(Date.UTC(2026, 10, 18, 12));
  laurel = await startLaurel({ configuration: STUDY_APP, clock });
  redis = await laurel.connect();
  await redisReady(redis);
});
afterEach(async () => {
  redis.disconnect();
  await laurel.close();
});

const flip = (key: string) =>
  laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id: 'ada' }, value: 1 },
    { headers: { 'Idempotency-Key': key } },
  );
const persist = () => new Persister({ redis, pool: laurel.pool }).drain(0, AbortSignal.abort());

/** The ID that such a version gave an event. */
function idBefore(nowMs: number, metricNo: number, key: string): string {
  const random = createHash('sha1').update(`ada\0${metricNo}\0${key}`).digest('hex').slice(4, 20);
  const variant = '89ab'[parseInt(random[3]!, 16) % 4]!;
  const hex = `${nowMs.toString(16).padStart(12, '0')}7${random.slice(0, 3)}${variant}${random.slice(4, 15)}0000`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Makes of a stored event what such a version would have left of it; its ID. */
async function asBefore(eventId: string, key: string): Promise<string> {
  const { rows } = await laurel.pool.query<{ no: number }>('SELECT metric_no AS no FROM events WHERE id = $1', [
    eventId,
  ]);
  const id = idBefore(clock.now(), rows[0]!.no, key);
  for (const table of ['events', 'used_keys'])
    await laurel.pool.query(`UPDATE ${table} SET id = $2 WHERE id = $1`, [eventId, id]);
  await laurel.pool.query('DELETE FROM awards WHERE id::text LIKE $1', [`${eventId.slice(0, -4)}%`]);
  const { bucket, field } = idempotencyDigest('ada', rows[0]!.no, key);
  expect(await redis.hset(`{s0}:0:i:${bucket}`, field, clock.now())).toBe(0);
  return id;
}

test('they hold, and name their events: hot, old, after a rebuild', async () => {
  const ids = new Map<string, string>();
  for (const key of ['before 1', 'before 2', 'now 1', 'now 2']) ids.set(key, (await flip(key)).body.eventId);
  await persist();
  for (const key of ['before 1', 'before 2']) ids.set(key, await asBefore(ids.get(key)!, key));
  expect(new Set(ids.values()).size).toBe(4);

  const check = async (): Promise<void> => {
    for (const [key, id] of ids) {
      const { status, body } = await flip(key);
      expect([key, status, body.eventId]).toEqual([key, 202, id]);
    }
    const found: unknown[] = [];
    await verify({ redis, pool: laurel.pool, onDifference: (difference) => found.push(difference) });
    expect(found).toEqual([]);
  };
  await check();
  await emptyRedis(redis);
  await rebuildByHand(laurel, redis);
  await check();

  clock.set(clock.now() + 1);
  const ageing = new KeyAgeing({ redis, pool: laurel.pool, hotDays: 0 });
  await ageing.perform(clock.now() + DAY_MS, new AbortController().signal);
  expect(await redis.keys('{s0}:0:i:*')).toEqual([]);
  await check();
  await emptyRedis(redis);
  await rebuildByHand(laurel, redis);
  await check();
});
