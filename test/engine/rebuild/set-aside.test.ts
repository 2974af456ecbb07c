import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDeadLetters } from '../../../src/engine/persist/dead-letters.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import type { Difference } from '../../../src/engine/rebuild/confirmation.ts';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { systemClock } from '../../../src/clock.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { countersKey } from '../../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { untilTaken } from './by-hand.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { onlyPart } from '../../stack/only-part.ts';

// Unstorable or unreadable data blocks no other data from being rebuilt and compared.
let laurel: TestLaurel;
let redis: TestLaurel['redis'];
beforeEach(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP });
  redis = await laurel.connect();
  await redisReady(redis);
});
afterEach(() => laurel.close());

const flip = async (id: string, key: string) =>
  laurel.app.post('/v1/metrics/flips/event', { user: { id }, value: 2 }, { headers: { 'Idempotency-Key': key } });
const totalOf = async (id: string): Promise<number> =>
  (await laurel.app.get(`/v1/users/${id}/metrics/flips`)).body.current;

/** Stores the outbox; returns the IDs of the resulting dead letters. */
async function store(): Promise<string[]> {
  const aside: string[] = [];
  const persister = new Persister({ redis, pool: laurel.pool, onSetAside: ({ id }) => aside.push(id) });
  await persister.drain(0, AbortSignal.abort());
  return aside;
}

/** The users named as unreadable. */
async function rebuild(): Promise<string[]> {
  const unreadable: string[] = [];
  const { pool } = laurel;
  await untilTaken(laurel, () => rebuildServers({ redis, pool, onUnreadable: ({ id }) => unreadable.push(id) }));
  return unreadable;
}

async function verified(): Promise<{ differences: Difference[]; unreadable: string[] }> {
  const [differences, unreadable]: [Difference[], string[]] = [[], []];
  await verify({
    redis,
    pool: laurel.pool,
    onDifference: (difference) => differences.push(difference),
    onUnreadable: ({ id }) => unreadable.push(id),
  });
  return { differences, unreadable };
}

/** Differences that do not concern the counters: completions that wait are not in Postgres. */
const keyDifferences = async (): Promise<Difference[]> =>
  (await verified()).differences.filter(({ key }) => key !== countersKey(onlyPart(0)));

const refuse = (what: string): Promise<unknown> => laurel.pool.query(`ALTER TABLE ${what} NOT VALID`);

test.each(['in Postgres', 'in Redis'])(
  'the key of an event that waits in a dead letter (%s) stays used: nothing counts it twice',
  async (place) => {
    if (place === 'in Redis') await refuse('dead_letters ADD CONSTRAINT no_bytes CHECK (entry IS NULL)');
    await refuse(`events ADD CONSTRAINT no_ada CHECK (user_id <> 'ada')`);
    const first = await flip('ada', 'waiting');
    await flip('bob', 'stored');
    const aside = await store();
    expect(aside).toHaveLength(1);
    expect(await keyDifferences()).toEqual([]);

    // Redis has the only copy of the letter.
    if (place === 'in Postgres') await emptyRedis(redis);
    expect(await rebuild()).toEqual([]);

    expect(await keyDifferences()).toEqual([]);
    expect(await flip('ada', 'waiting')).toMatchObject({
      status: 202,
      body: { eventId: first.body.eventId, total: 2, idempotentReplayed: true },
    });
    expect((await flip('bob', 'stored')).status).toBe(202);
    expect(await totalOf('ada')).toBe(2);

    await laurel.pool.query('ALTER TABLE events DROP CONSTRAINT no_ada');
    const { pool } = laurel;
    const letters = createDeadLetters({ redis, pool, clock: systemClock, onRetried: () => undefined });
    expect(await letters.retry(aside[0]!, { who: 'test' })).toMatchObject({ status: 'stored' });
    expect((await pool.query(`SELECT value::int AS value FROM events WHERE user_id = 'ada'`)).rows).toEqual([
      { value: 2 },
    ]);
    expect(await verified()).toEqual({ differences: [], unreadable: [] });
  },
);

test.each([
  ['that breaks off', Buffer.from([0x85, 0xa1])],
  ['that is no msgpack', Buffer.from([0xc1])],
  ['that is nothing', Buffer.alloc(0)],
  ['that is a number', Buffer.from([7])],
  ['that is null', Buffer.from([0xc0])],
  ['that is a list', Buffer.from([0x90])],
])("a user's state %s: both continue and name the user, and restore all others", async (_what, state) => {
  for (const id of ['ada', 'bob', 'cleo']) await flip(id, 'first');
  await store();
  await laurel.pool.query(`UPDATE users SET state = $1 WHERE id = 'bob'`, [state]);

  const before = await verified();
  expect(before.unreadable).toEqual(['bob']);
  expect(before.differences.map(({ key, part }) => `${key} ${part}`)).toContain('{s0}:0:u:bob ');
  await emptyRedis(redis);
  expect(await rebuild()).toEqual(['bob']);

  const after = await verified();
  expect(after.unreadable).toEqual(['bob']);
  expect(await totalOf('ada')).toBe(2);
  expect((await flip('cleo', 'first')).status).toBe(202);
  expect(await flip('cleo', 'second')).toMatchObject({ status: 201, body: { total: 4 } });
});
