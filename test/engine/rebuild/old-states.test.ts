import { afterAll, beforeAll, expect, test } from 'vitest';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { userKey } from '../../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { asOldForm } from '../../packed/as-old-form.ts';
import { STUDY_APP } from '../../study-app.ts';
import { rebuildByHand } from './by-hand.ts';

// An installation whose states an earlier version wrote: one map each, in Postgres and so in a Redis that is rebuilt from it.

const USERS = ['ada', 'bob', 'eve', 'new'];

let laurel: TestLaurel;
let redis: TestLaurel['redis'];
beforeAll(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP, testClock: true, workers: true });
  redis = await laurel.connect();
  await redisReady(redis);
});
afterAll(async () => {
  redis.disconnect();
  await laurel.close();
});

const clock = (now: string) => laurel.admin.put('/v1/clock', { now });

/** What a user's event is answered, without what is new with every event. */
async function event(id: string, value: number): Promise<object> {
  const user = { id, tz: 'Europe/Paris', attributes: { plan: 'pro' } };
  const { status, body } = await laurel.app.post('/v1/metrics/flips/event', { user, value });
  expect(status).toBe(201);
  const { eventId: _, ...rest } = body;
  return rest;
}

const PATHS = ['', '/metrics', '/achievements', '/streak?historyPeriods=14', '/points/xp', '/preferences'];

async function read(): Promise<unknown[]> {
  const ofUsers = USERS.flatMap((id) => PATHS.map((path) => `/v1/users/${id}${path}`));
  const paths = [...ofUsers, '/v1/leaderboards/flips', '/v1/leaderboards/weekly', '/v1/leaderboards/plans'];
  return Promise.all(paths.map(async (path) => [path, (await laurel.app.get(path)).body]));
}

async function differences(): Promise<unknown[]> {
  const found: unknown[] = [];
  await verify({ redis, pool: laurel.pool, onDifference: (each) => void found.push(each) });
  return found;
}

async function storedStates(): Promise<{ id: string; state: Buffer }[]> {
  return (await laurel.pool.query<{ id: string; state: Buffer }>('SELECT id, state FROM users ORDER BY id')).rows;
}

test('states of an earlier version are rebuilt, read, and changed by events as those of now are', async () => {
  await clock('2030-03-01T10:00:00Z');
  await event('ada', 4);
  await event('bob', 12);
  await laurel.app.put('/v1/users/new', { name: 'New', attributes: { plan: 'free' } });
  await clock('2030-03-02T10:00:00Z');
  await event('ada', 2);
  await event('eve', 4);
  await clock('2030-03-02T10:01:00Z');
  const before = await read();

  const states = await storedStates();
  expect(states.map(({ id }) => id)).toEqual(USERS);
  for (const { id, state } of states)
    await laurel.pool.query('UPDATE users SET state = $2 WHERE id = $1', [id, asOldForm(state)]);
  await rebuildByHand(laurel, redis);
  for (const { id, state } of states) expect(await redis.getBuffer(userKey(0, id))).toEqual(asOldForm(state));
  expect(await read()).toEqual(before);
  expect(await differences()).toEqual([]);

  // At the midnight states of both forms are swept: bob's streak, of the old form, ends.
  await event('eve', 1);
  await clock('2030-03-03T10:00:00Z');
  const { state } = (await storedStates()).find(({ id }) => id === 'ada')!;
  expect(await event('ada', 7)).toMatchObject({ total: 13, currentStreak: { length: 3 } });
  expect(await event('bob', 1)).toMatchObject({ total: 13, currentStreak: { length: 1 } });
  expect(await event('new', 1)).toMatchObject({ total: 1, currentStreak: { length: 1 } });
  await clock('2030-03-03T10:01:00Z');
  expect((await storedStates()).find(({ id }) => id === 'ada')!.state).not.toEqual(state);
  for (const { state: now } of await storedStates()) expect(now[0], 'the present form').not.toBe(asOldForm(now)[0]);
  const after = await read();
  expect(await differences()).toEqual([]);
  await rebuildByHand(laurel, redis);
  expect(await read()).toEqual(after);
});
