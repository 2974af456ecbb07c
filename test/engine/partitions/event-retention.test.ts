import { afterEach, beforeEach, expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { JobRunner } from '../../../src/engine/schedule/job-runner.ts';
import { createRecomputing } from '../../../src/engine/recomputations/recomputation-job.ts';
import { createKeyAgeing } from '../../../src/engine/retention/key-ageing.ts';
import { createEventPartitionsAhead } from '../../../src/engine/retention/event-partitions.ts';
import { Publisher } from '../../../src/engine/notifications/due/publisher.ts';
import { createExpiries } from '../../../src/engine/points/expiries.ts';
import { Scripts } from '../../../src/engine/scripts.ts';
import { createEventRetention, createPartitionDropping } from '../../../src/engine/retention/event-retention.ts';
import { countedUsers } from '../../../src/postgres/users/selections.ts';
import { HISTORY_SUM } from '../../../src/packed/call-fields.ts';
import { historySums } from '../../../src/postgres/boards/past-scores.ts';
import {
  metricDays,
  pointsDays,
  sampledMetricChanges,
  sampledPointsChanges,
  userAttributeSums,
  userMetricDays,
  userPointsDays,
} from '../../../src/postgres/history/days.ts';
import { dropEvents, moveNextUsers, readEventPartitions, retentionTooShort } from '../../../src/postgres/partitions.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { dateOf } from '../../../src/domain/periods.ts';
import { redisReady } from '../../../src/redis/client.ts';
import type { ScheduledWork } from '../../../src/engine/schedule/due-work.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { rebuildByHand } from '../rebuild/by-hand.ts';
import { differencesIn } from '../../differences.ts';

const DAY_MS = 86_400_000;
const NEVER = new AbortController().signal;
const KEPT_DAYS = 40;
/** The day on which the database was installed; midnight may have passed since then. */
let today: number;
/** The last day on which the first partition is kept. */
let lastDay: number;

let laurel: TestLaurel;
let clock: FixedClock;
let redis: TestLaurel['redis'];

beforeEach(async () => {
  clock = new FixedClock(Date.now() - 5 * DAY_MS);
  laurel = await startLaurel({ configuration: STUDY_APP, clock });
  today = (await readEventPartitions(laurel.pool))[1]!.firstDay;
  lastDay = today + KEPT_DAYS - 1;
  clock.set((today - 3) * DAY_MS + 1_000);
  redis = await laurel.connect();
  await redisReady(redis);
});
afterEach(() => laurel.close());

const flip = (id: string, value: number, more: { key?: string; deck?: string } = {}) =>
  laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id }, value, ...(more.deck !== undefined && { attributes: { deck: more.deck } }) },
    { headers: more.key === undefined ? {} : { 'Idempotency-Key': more.key } },
  );
const persist = () => new Persister({ redis, pool: laurel.pool }).drain(0, AbortSignal.abort());

async function workOff(work: ScheduledWork): Promise<void> {
  const nowMs = clock.now();
  for (let due = await work.due(nowMs); due !== null; due = await work.due(nowMs))
    await work.perform(due, NEVER, due, nowMs);
}

/** All the schedule's work on partitions for a day. */
async function onDay(day: number): Promise<void> {
  clock.set(day * DAY_MS + 1_000);
  await persist();
  await workOff(createKeyAgeing({ redis, pool: laurel.pool, hotDays: 7 }));
  await workOff(createEventPartitionsAhead(laurel.pool));
  await retain(KEPT_DAYS);
}

/** Drops partitions until none is due, like the schedule and the job runner. */
async function retain(days: number): Promise<void> {
  const { pool } = laurel;
  const retention = createEventRetention(pool, days);
  const runner = new JobRunner({ pool, works: [createPartitionDropping(pool)] });
  const nowMs = clock.now();
  for (let due = await retention.due(nowMs); due !== null; due = await retention.due(nowMs)) {
    await retention.perform(due, NEVER, due, nowMs);
    while (await runner.step());
  }
}

const move = () => transaction(laurel.pool, (client) => moveNextUsers(client, 0));

/** Some days of two users, with all their sums. */
async function play(): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    clock.set((today - 3 + n) * DAY_MS + 1_000);
    for (const deck of ['verbs', 'nouns', 'verbs']) expect((await flip('ada', 4, { deck })).status).toBe(201);
    await flip('ada', -1.5);
    await flip('bob', 2, { key: `key ${n}` });
  }
  await persist();
}

const rows = async (text: string): Promise<Record<string, unknown>[]> => (await laurel.pool.query(text)).rows;
const details = async (): Promise<number> =>
  Number((await rows('SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM awards) AS n'))[0]!.n);

async function flipsNo(): Promise<number> {
  const found = "SELECT min(no) AS no FROM catalog_resources WHERE doc ->> 'key' = 'flips' AND kind = 'metric'";
  return (await rows(found))[0]!['no'] as number;
}

/** Every read of the past from sums. */
async function history(): Promise<unknown[]> {
  const { pool } = laurel;
  const [metricNo, systemNo] = [
    await flipsNo(),
    (await rows("SELECT min(no) AS no FROM catalog_resources WHERE kind = 'points_system'"))[0]!.no as number,
  ];
  const [fromDay, toDay] = [today - 10, today - 1];
  const of = { tenantNo: 0, userId: 'ada' };
  const windows = [
    { fromDay, toDay: today - 2 },
    { fromDay: today - 2, toDay },
  ];
  const board = { tenantNo: 0, ids: ['ada', 'bob'], runDays: [fromDay, today - 2], lastDay: null, times: null };
  const without = (all: readonly { state: Buffer }[]): unknown[] => all.map((each) => ({ ...each, state: null }));
  const attributes = await userAttributeSums(pool, { ...of, windows, shown: [0, 1], keys: ['deck'] });
  return [
    await metricDays(pool, { ...of, metricNo, fromDay, toDay }),
    await pointsDays(pool, { ...of, systemNo, fromDay, toDay }),
    await userMetricDays(pool, { ...of, toDay }),
    await userPointsDays(pool, { ...of, toDay }),
    await sampledMetricChanges(pool, { tenantNo: 0, users: 10, fromDay, toDay }).then(sorted),
    await sampledPointsChanges(pool, { tenantNo: 0, users: 10, fromDay, toDay }).then(sorted),
    attributes.map((each) => JSON.stringify(each)).toSorted(),
    without(await countedUsers(pool, { tenantNo: 0, ids: ['ada', 'bob'], metricNo, attributes: { deck: 'verbs' } })),
    without(await historySums(pool, { ...board, counted: { metricNo } })),
    without(await historySums(pool, { ...board, counted: { systemNo } })),
  ];
}

const sorted = ({ users, changes }: { users: number; changes: Map<number, number[]> }): unknown => [
  users,
  [...changes].map(([no, all]) => [no, all.toSorted((a, b) => a - b)]),
];

test('removes expired events with their partition on its day, and keeps every sum of the past', async () => {
  await play();
  const before = await history();
  expect(JSON.stringify(before)).toContain('31.5');
  await onDay(lastDay);
  const kept = await details();
  expect(kept).toBeGreaterThan(15);
  await move();
  expect(await details()).toBe(0);
  expect(await history()).toEqual(before);
  await onDay(lastDay + 1);
  expect(await details()).toBe(0);
  expect(await history()).toEqual(before);
});

test('of a sum that only dropped events make, the day is known on which it was reached', async () => {
  await play();
  const counted = { metricNo: await flipsNo(), always: true, timed: true };
  const board = { tenantNo: 0, ids: ['ada'], runDays: [today - 10], lastDay: null, times: null, counted };
  const reached = async (): Promise<number[]> =>
    (await historySums(laurel.pool, board)).map(({ sums }) => sums[0]![HISTORY_SUM.reached]! / 1_000);
  expect(await reached()).toEqual([(today - 1) * DAY_MS + 1_000]);
  await onDay(lastDay + 1);
  expect(await details()).toBe(0);
  expect(await reached()).toEqual([(today - 1) * DAY_MS]);
});

test('the key of a dropped event stays used, also after a rebuild; its event can no longer be reversed', async () => {
  await play();
  const { eventId } = (await flip('bob', 2, { key: 'key 0' })).body;
  await onDay(lastDay + 1);
  const check = async (): Promise<void> => {
    const again = await flip('bob', 2, { key: 'key 0' });
    expect([again.status, again.body.eventId]).toEqual([202, eventId]);
    expect(await differencesIn({ redis, pool: laurel.pool })).toEqual([]);
  };
  await check();
  await rebuildByHand(laurel, redis);
  await check();
  const reversal = await laurel.admin.post(`/v1/events/${eventId}/reverse`, {});
  expect([reversal.status, reversal.body.error]).toEqual([404, expect.stringContaining('older than events are kept')]);
  const { body } = await laurel.admin.get('/v1/users/bob/timeline');
  expect(body.detailsFrom).toBe(new Date(today * DAY_MS).toISOString().slice(0, 10));
  expect((await flip('bob', 2, { key: 'key 9' })).status).toBe(201);
});

test('refuses only recomputations that need dropped events; leaderboards and plain achievements are computed', async () => {
  await play();
  await onDay(lastDay + 1);
  const create = async (request: object) => {
    const { status, body } = await laurel.admin.post('/v1/recomputations', request);
    return [status, body.error];
  };
  const refused = (field: string) => [422, expect.stringMatching(new RegExp(`^${field}.*were dropped`))];
  expect(await create({ what: ['points', 'boards'] })).toEqual(refused("what: 'points'"));
  expect(await create({ what: ['achievements'], mayRevoke: true })).toEqual(refused('mayRevoke'));
  const boards = await laurel.admin.post('/v1/recomputations', { what: ['boards'] });
  expect([boards.status, boards.body.error]).toEqual([202, null]);
  expect((await laurel.admin.post(`/v1/recomputations/${boards.body.id}/cancel`, undefined)).status).toBe(202);
  const { status, body } = await laurel.admin.post('/v1/recomputations', { what: ['achievements'] });
  expect([status, body.error]).toEqual([202, null]);
  const recomputing = new JobRunner({
    pool: laurel.pool,
    works: [createRecomputing({ redis, pool: laurel.pool, clock, onWritten: () => undefined })],
  });
  const at = async () => (await laurel.admin.get(`/v1/recomputations/${body.id}`)).body;
  while ((await at()).status === 'planning') await recomputing.step();
  expect(await at()).toMatchObject({ status: 'planned', figures: { users: 2, gaining: 0, losing: 0 } });
  expect((await laurel.admin.post(`/v1/recomputations/${body.id}/cancel`, undefined)).status).toBe(202);
  const counting = { key: 'verbs', name: 'V', trigger: 'metric', metricKey: 'flips', metricValue: 5, status: 'active' };
  const configuration = (await laurel.admin.get('/v1/configuration')).body;
  configuration.achievements.push({ ...counting, eventAttributes: [{ key: 'deck', value: 'verbs' }] });
  expect((await laurel.admin.put('/v1/configuration', configuration)).status).toBe(200);
  expect(await create({ what: ['achievements'] })).toEqual(refused("what: 'achievements'.*'verbs'"));
});

test('dropping events while a recomputation of points is planned ends it with the reason; nothing of it can be applied', async () => {
  await play();
  // So many that one slice does not drop all of them.
  await rows(`INSERT INTO users (tenant_no, id, created, state, attributes, points)
    SELECT 0, 'copy ' || n, created, state, attributes, points FROM users, generate_series(1, 500) AS n WHERE id = 'bob'`);
  const configuration = (await laurel.admin.get('/v1/configuration')).body;
  for (const system of configuration.pointsSystems) for (const trigger of system.triggers) trigger.points *= 2;
  expect((await laurel.admin.put('/v1/configuration', configuration)).status).toBe(200);
  const { status, body } = await laurel.admin.post('/v1/recomputations', { what: ['points'] });
  expect(status).toBe(202);
  await persist();
  const at = async () => (await laurel.admin.get(`/v1/recomputations/${body.id}`)).body;
  const recomputing = new JobRunner({
    pool: laurel.pool,
    works: [createRecomputing({ redis, pool: laurel.pool, clock, onWritten: () => undefined })],
  });
  while ((await at()).progress.users === 0) await recomputing.step();
  expect(await at()).toMatchObject({ status: 'planning', figures: { users: 400, gaining: 2 } });
  await onDay(lastDay + 1);
  const states = await rows('SELECT id, points FROM users ORDER BY id');
  // A job rests between two slices.
  while ((await at()).status === 'planning') await recomputing.step();
  expect(await at()).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/^what: 'points' needs all events.*were dropped/),
    outcome: { applied: 0 },
  });
  expect((await laurel.admin.post(`/v1/recomputations/${body.id}/apply`, undefined)).status).toBe(409);
  expect(await recomputing.step()).toBe(false);
  await persist();
  expect(await rows('SELECT id, points FROM users ORDER BY id')).toEqual(states);
});

async function expireAfter(expiresAfterDays: number): Promise<void> {
  const configuration = (await laurel.admin.get('/v1/configuration')).body;
  for (const system of configuration.pointsSystems) Object.assign(system, { expiresAfterDays });
  expect((await laurel.admin.put('/v1/configuration', configuration)).status).toBe(200);
}

test('keeps the awards of points that have not expired yet', async () => {
  await play();
  await expireAfter(KEPT_DAYS + 20);
  const before = await details();
  await onDay(lastDay + 20);
  expect(await details()).toBe(before);
  await onDay(lastDay + 23);
  expect(await details()).toBe(0);
});

test('points whose awards were dropped expire as if earned on the last dropped day', async () => {
  await play();
  await onDay(lastDay + 1);
  expect(await details()).toBe(0);
  await expireAfter(100);
  const { pool, services } = laurel;
  const publisher = new Publisher({ redis: laurel.redis, pool, catalogs: services.catalogs });
  const scripts = new Scripts({ redis: laurel.redis, clock, onWritten: () => undefined });
  const expiries = createExpiries({ redis: laurel.redis, scripts, clock, publisher });
  const path = '/v1/users/ada/points/xp';
  const { total } = (await laurel.app.get(path)).body;
  expect(total).toBeGreaterThan(0);
  await workOff(expiries);
  for (const [day, balance] of [
    [today - 1 + 100, total],
    [today + 100, 0],
  ]) {
    clock.set(day * DAY_MS + 1_000);
    await workOff(expiries);
    await persist();
    expect((await laurel.app.get(path)).body).toMatchObject({ total, balance });
  }
});

test('deleting a user leaves neither sums nor used keys', async () => {
  await play();
  await onDay(lastDay + 1);
  expect((await rows(`SELECT FROM event_days WHERE user_id = 'bob'`)).length).toBe(3);
  expect((await laurel.admin.delete('/v1/users?ids=bob')).status).toBe(200);
  await persist();
  for (const table of ['event_days', 'award_days', 'used_keys', 'events'])
    expect([table, await rows(`SELECT FROM ${table} WHERE user_id = 'bob'`)]).toEqual([table, []]);
  expect((await flip('bob', 1, { key: 'key 0' })).status).toBe(201);
});

test('also moves rows added to a partition after it was moved, so that nothing is lost', async () => {
  await play();
  expect(await move()).toBeGreaterThan(0);
  expect(await move()).toBeNull();
  clock.set((today - 1) * DAY_MS + 1_000);
  await flip('cat', 7);
  await flip('ada', 7);
  await persist();
  const before = await history();
  expect(await transaction(laurel.pool, (client) => dropEvents(client, 0))).toBe(false);
  expect(await history()).toEqual(before);
  expect(await move()).toBeGreaterThan(0);
  expect(await move()).toBeNull();
  expect(await transaction(laurel.pool, (client) => dropEvents(client, 0))).toBe(true);
  expect(await history()).toEqual(before);
  expect(await rows(`SELECT value::float8 FROM event_days WHERE user_id = 'cat'`)).toEqual([{ value: 7 }]);
});

test('an import of dropped days is kept as daily sums, and deleted with its user', async () => {
  await play();
  await onDay(lastDay + 1);
  const [long, lately] = [dateOf(today - 400), dateOf(lastDay - 5)];
  const past = {
    metrics: { flips: { total: 10, days: { [long]: 3, [lately]: 4 } } },
    points: {
      xp: { total: 50, days: { [long]: 20, [lately]: 30 }, awards: [{ awarded: 15, date: `${long}T12:00:00Z` }] },
    },
  };
  const { body } = await laurel.admin.post('/v1/imports?import=crm', [{ id: 'eve', ...past }]);
  expect(body).toEqual({ users: [{ id: 'eve', status: 'imported', skipped: [] }], issues: [] });
  await persist();
  expect(await rows('SELECT FROM events_default UNION ALL SELECT FROM awards_default')).toEqual([]);
  expect(await rows('SELECT value::float8, imported FROM events')).toEqual([{ value: 4, imported: true }]);
  const days = (
    await rows(`SELECT events::int, positive::int, value::float8 FROM event_days WHERE user_id = 'eve'`)
  )[0];
  expect(days).toEqual({ events: 1, positive: 1, value: 3 });
  for (const [kind, first, second] of [
    ['metrics/flips', [6, 3], [10, 4]],
    ['points/xp', [20, 20], [50, 30]],
  ] as const) {
    const on = async (date: string): Promise<unknown> => {
      const query = `aggregation=daily&startDate=${date}&endDate=${date}`;
      const [day] = (await laurel.app.get(`/v1/users/eve/${kind}/event-summary?${query}`)).body;
      return [day.total, day.change];
    };
    expect([kind, await on(long), await on(lately)]).toEqual([kind, first, second]);
  }
  expect((await laurel.admin.delete('/v1/users?ids=eve')).status).toBe(200);
  await persist();
  expect(
    await rows(
      `SELECT user_id FROM event_days WHERE user_id = 'eve' UNION SELECT user_id FROM award_days WHERE user_id = 'eve'`,
    ),
  ).toEqual([]);
});

test('keeps events for longer than they may be late, regardless of the setting', async () => {
  const { pool } = laurel;
  expect(await retentionTooShort(pool, null)).toBeNull();
  expect(await retentionTooShort(pool, 36)).toBeNull();
  expect(await retentionTooShort(pool, 35)).toContain('at least 36');
  await play();
  clock.set((today + 35) * DAY_MS);
  await workOff(createEventPartitionsAhead(laurel.pool));
  await retain(2);
  expect(await details()).toBeGreaterThan(0);
  clock.set((today + 36) * DAY_MS);
  await retain(2);
  expect(await details()).toBe(0);
});
