import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { REBUILD_LOCK, rebuildServers } from '../../../src/engine/availability/accept.ts';
import { rebuild, type RebuildProgress } from '../../../src/engine/rebuild/rebuild.ts';
import { exclusively } from '../../../src/postgres/transaction.ts';
import { lockCursors } from '../../../src/postgres/shards.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { connectionOf } from '../../../src/redis/endpoints.ts';
import { backlog } from '../../../src/redis/outbox.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { backUp } from './back-up.ts';
import { untilTaken } from './by-hand.ts';
import { dump } from './dump.ts';
import { emptyRedis, serverOf } from '../../stack/all-servers.ts';

const HURRY = AbortSignal.abort();

let laurel: TestLaurel;
let redis: TestLaurel['redis'];

beforeEach(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP });
  // An unguarded connection, like that of a rebuild by hand.
  redis = await laurel.connect();
  await redisReady(redis);
});
afterEach(() => laurel.close());

const epoch = async (): Promise<number> =>
  (await laurel.pool.query<{ epoch: number }>('SELECT epoch FROM redis_epoch')).rows[0]!.epoch;

/** Some users with everything that a user can have, of two tenants of the same shard and one of another. */
async function play(): Promise<void> {
  for (let n = 0; n < 12; n += 1) {
    const user = { id: `user ${n % 5}`, tz: 'Europe/Berlin', attributes: { plan: n % 3 === 0 ? 'free' : 'pro' } };
    const { status } = await laurel.app.post(
      '/v1/metrics/flips/event',
      { user, value: n % 4 === 3 ? -0.1 : 3.5 },
      { headers: n % 2 === 0 ? { 'Idempotency-Key': `key ${n}` } : {} },
    );
    expect(status).toBe(201);
  }
  // A deleted user who returns may use a key again.
  await laurel.admin.delete('/v1/users?ids=user 2');
  const again = await laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id: 'user 2' }, value: 9 },
    { headers: { 'Idempotency-Key': 'key 2' } },
  );
  expect(again.status).toBe(201);
  await laurel.app.post('/v1/users', { id: 'quiet' });
  await laurel.app.post('/v1/achievements/tour/complete', { user: { id: 'quiet' } });
}

/** The contents of Redis, after all of it is in Postgres. */
async function settledDump(): Promise<Record<string, unknown>> {
  const persister = new Persister({ redis, pool: laurel.pool });
  await persister.drain(0, HURRY);
  return dump(redis);
}

describe('a rebuild', () => {
  test('of an empty Redis restores it', async () => {
    await play();
    const before = await settledDump();
    expect(Object.keys(before).length).toBeGreaterThan(15);
    await emptyRedis(redis);

    const steps: RebuildProgress['step'][] = [];
    await rebuildServers({ redis, pool: laurel.pool, onProgress: ({ step }) => void steps.push(step) });

    expect(await dump(redis)).toEqual(before);
    expect(steps.at(-1)).toBe('done');
  });

  test('of a healthy Redis changes nothing, and first stores the outbox', async () => {
    await play();
    // The used keys of a deleted user go when the deletion is stored.
    const withoutKeys = async (): Promise<unknown> =>
      Object.fromEntries(Object.entries(await dump(redis)).filter(([key]) => !key.includes(':i:')));
    const before = await withoutKeys();
    expect(await backlog(redis, 0)).toBeGreaterThan(10);
    await rebuildServers({ redis, pool: laurel.pool });
    expect(await withoutKeys()).toEqual(before);
    expect(await backlog(redis, 0)).toBe(0);
    const { rows } = await laurel.pool.query('SELECT count(*)::int AS n FROM events');
    expect(rows[0].n).toBe(11);
  });

  describe('begins while an earlier persister still holds the cursor without storing anything:', () => {
    /** The persister holds it until the rebuild has tried to store the outbox. */
    async function rebuildBeside(): Promise<void> {
      const persister = await laurel.pool.connect();
      let looks = 0;
      const onProgress = async (): Promise<void> => {
        looks += 1;
        if (looks === 1) {
          await persister.query('BEGIN');
          await lockCursors(persister, [0]);
        }
        if (looks === 2) await persister.query('ROLLBACK');
      };
      const work = (): Promise<void> => rebuild({ ...serverOf(redis, 0), shards: [0], pool: laurel.pool, onProgress });
      await exclusively(laurel.pool, REBUILD_LOCK, work);
      persister.release();
    }

    const users = async (): Promise<unknown> =>
      Object.fromEntries(Object.entries(await dump(redis)).filter(([key]) => key.startsWith('{s0}:0:u:')));

    async function expectAllStored(): Promise<void> {
      expect(await backlog(redis, 0)).toBe(0);
      const { rows } = await laurel.pool.query('SELECT count(*)::int AS n FROM events');
      expect(rows[0].n).toBe(11);
    }

    test('stores the outbox first', async () => {
      await play();
      const before = await users();
      await rebuildBeside();
      await expectAllStored();
      expect(await users()).toEqual(before);
    });

    test('first stores entries again that left the outbox, are kept, and are missing in a Postgres with older data', async () => {
      const bringBack = await backUp(laurel.pool);
      await play();
      const before = await users();
      await new Persister({ redis, pool: laurel.pool, keepMs: 600_000 }).drain(0, HURRY);
      await bringBack();
      await rebuildBeside();
      await expectAllStored();
      expect(await users()).toEqual(before);
    });
  });

  test('removes what does not belong there', async () => {
    await play();
    const before = await settledDump();
    await redis.zadd('{s0}:0:b:3:20000:', 5, 'nobody');
    await redis.set('{s0}:0:u:nobody', 'x');
    await rebuildServers({ redis, pool: laurel.pool });
    expect(await dump(redis)).toEqual(before);
  });

  test('of a shard whose keys have another format begins by itself', async () => {
    await play();
    const before = await settledDump();
    const [points] = await redis.keys('{s0}:0:p:*');
    const mark = await redis.get('{s0}:mark');
    await untilTaken(
      laurel,
      async () => {
        await connectionOf(redis, 0)
          .multi()
          .del(points!)
          .zadd(points!, 17, 'user 1')
          .set('{s0}:mark', mark!.replace(/:\d+$/, ':0'))
          .exec();
      },
      0,
    );
    expect(await dump(redis)).toEqual(before);
  });

  test.each(['remove old keys', 'users', 'idempotency keys'] as const)(
    'that breaks off at "%s" leaves Redis closed, and the next one completes it',
    async (last) => {
      await play();
      const before = await settledDump();
      const dying = (): Promise<void> =>
        rebuildServers({
          ...serverOf(redis, 0),
          pool: laurel.pool,
          onProgress: async ({ step }) => {
            if (step !== last) return;
            expect(await redis.exists('{s0}:mark')).toBe(0);
            throw new Error('the end of the process');
          },
        });
      // The frontend does it.
      await untilTaken(laurel, () => expect(dying()).rejects.toThrow('the end of the process'), 0);
      expect(await dump(redis)).toEqual(before);
    },
  );

  test('that another rebuild overtakes stops writing', async () => {
    await play();
    const before = await settledDump();
    const firstEpoch = await epoch();
    const other = await laurel.connect();
    await redisReady(other);
    let calls = 0;
    const slow = (): Promise<void> =>
      rebuild({
        ...serverOf(redis, 0),
        pool: laurel.pool,
        onProgress: async ({ step }) => {
          if (step !== 'users' || ++calls > 1) return;
          await rebuild({ ...serverOf(other, 0), pool: laurel.pool });
          // After the other one was done, something happens that the slow one has not read.
          await redis.set('{s0}:0:u:user 1', 'newer');
        },
      });
    // The frontend must not help.
    await exclusively(laurel.pool, REBUILD_LOCK, () => expect(slow()).rejects.toThrow('overtaken'));
    other.disconnect();
    expect(await epoch()).toBe(firstEpoch + 2);
    expect(await redis.get('{s0}:0:u:user 1')).toBe('newer');
    const { '{s0}:0:u:user 1': _, ...rest } = before;
    await redis.del('{s0}:0:u:user 1');
    expect(await dump(redis)).toEqual(rest);
  });
});
