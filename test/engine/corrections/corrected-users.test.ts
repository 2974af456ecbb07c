import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { startLaurel } from '../../laurel.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

const CONFIGURATION: Configuration = {
  metrics: [
    { key: 'steps', name: 'Steps', guards: { maxValue: { limit: 100, action: 'quarantine' } } },
    { key: 'filled', name: 'Filled', guards: { maxTotal: { limit: 200, action: 'refuse' } } },
    { key: 'spent', name: 'Spent' },
    { key: 'pings', name: 'Pings', guards: { minSecondsBetween: { limit: 60, action: 'refuse' } } },
  ],
  achievements: [
    { key: 'far', name: 'Far', trigger: 'metric', metricKey: 'steps', metricValue: 100, status: 'active' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { type: 'metric', metricKey: 'steps', metricThreshold: 10, points: 1, status: 'active' },
        {
          type: 'metric',
          metricKey: 'spent',
          metricThreshold: 1,
          points: -1,
          blockIfOutOfPoints: true,
          status: 'active',
        },
      ],
    },
  ],
  leaderboards: [
    { key: 'steps', name: 'Steps', rankBy: 'metric', metricKey: 'steps', start: '2030-01-01', status: 'active' },
  ],
  streaks: { enabled: true, frequency: 'daily' },
};

const laurel = opened(() => startLaurel({ workers: true, testClock: true, configuration: CONFIGURATION }));
beforeAll(async () => {
  await laurel.admin.put('/v1/clock', { now: '2030-03-10T12:00:00.000Z' });
});

let user: string;
let users = 0;
beforeEach(() => (user = `user-${(users += 1)}`));

const send = (value: number, more: { metric?: string; key?: string; occurredAt?: string } = {}) =>
  laurel.app.post(
    `/v1/metrics/${more.metric ?? 'steps'}/event`,
    { user: { id: user }, value, ...(more.occurredAt !== undefined && { occurredAt: more.occurredAt }) },
    { headers: more.key === undefined ? {} : { 'Idempotency-Key': more.key } },
  );
const reverse = async (id: string, body: object = {}) =>
  (await laurel.admin.post(`/v1/events/${id}/reverse`, body)).body;
const release = async (id: string) => (await laurel.admin.post(`/v1/quarantine/${id}/release`, undefined)).body;
const total = async (metric = 'steps') => (await laurel.app.get(`/v1/users/${user}/metrics/${metric}`)).body.current;
const differences = () => differencesIn(laurel);

test('an event in quarantine cannot be reversed; a released one can, once, and its key stays used', async () => {
  const { eventId } = (await send(150, { key: 'k' })).body;
  const waiting = await laurel.admin.post(`/v1/events/${eventId}/reverse`, {});
  expect([waiting.status, waiting.body.error]).toEqual([404, expect.stringContaining('waits in quarantine')]);
  expect((await release(eventId)).event).toMatchObject({ total: 150, achievements: [{ key: 'far' }] });
  const gone = await reverse(eventId, { revokeAchievements: true });
  expect(gone).toMatchObject({
    status: 'reversed',
    total: 0,
    streak: 0,
    points: [{ key: 'xp', changed: -15, total: 0 }],
    revokedAchievements: ['far'],
  });
  expect((await release(eventId)).event).toBe(null);
  const again = await send(150, { key: 'k' });
  expect([again.status, again.body.eventId, again.body.idempotentReplayed, again.body.total]).toEqual([
    202,
    eventId,
    true,
    0,
  ]);
  expect(await reverse(gone.reversalId)).toMatchObject({ status: 'restored', total: 150, streak: 1 });
  expect((await laurel.app.get(`/v1/users/${user}/leaderboards/steps`)).body.value).toBe(150);
  expect(await differences()).toEqual([]);
});

test('points that a reversal takes can be earned again below the highest total', async () => {
  const fill = (value: number) => send(value, { metric: 'filled' });
  const { eventId } = (await fill(100)).body;
  expect((await fill(100)).status).toBe(201);
  expect((await fill(1)).status).toBe(422);
  await reverse(eventId);
  expect((await fill(100)).status).toBe(201);
  expect((await fill(1)).status).toBe(422);
});

test('refused late events of a batch do not stop the others', async () => {
  const at = (day: number) => `2030-03-${String(day).padStart(2, '0')}T10:00:00Z`;
  const item = (key: string, value: number, occurredAt?: string) => ({ key, user: { id: user }, value, occurredAt });
  const { body } = await laurel.admin.post('/v1/metrics/events?wait=true', [
    item('steps', 100, at(8)),
    // Out of points after the 10 that the first one earned; above the maximum value; above the maximum total.
    item('spent', 11, at(8)),
    item('steps', 150, at(9)),
    item('steps', 50, at(9)),
    item('filled', 201, at(7)),
    item('spent', 3, at(7)),
    item('steps', 50),
  ]);
  expect(body.results.map(({ status, total: sum }: { status: number; total?: number }) => [status, sum])).toEqual([
    [201, 100],
    [422, undefined],
    [202, 100],
    [201, 150],
    [422, undefined],
    [201, 3],
    [201, 200],
  ]);
  const { body: streak } = await laurel.app.get(`/v1/users/${user}/streak?historyPeriods=5`);
  expect(streak.streakHistory.map(({ length }: { length: number }) => length)).toEqual([0, 1, 2, 3, 4]);
  expect(await differences()).toEqual([]);
});

test('the time between events is measured by when they happened', async () => {
  const ping = async (occurredAt?: string) =>
    (await send(1, { metric: 'pings', ...(occurredAt !== undefined && { occurredAt }) })).status;
  expect(await ping('2030-03-08T10:00:00Z')).toBe(201);
  expect(await ping('2030-03-08T10:00:59Z')).toBe(422);
  expect(await ping('2030-03-08T11:01:00+01:00')).toBe(201);
  // Before the newest: Laurel does not know its neighbours.
  expect(await ping('2030-03-07T10:00:00Z')).toBe(422);
  expect(await ping()).toBe(201);
  expect(await ping('2030-03-10T11:59:00Z')).toBe(422);
  expect(await total('pings')).toBe(3);
});

test('takes the points that were given, even if the rules have changed', async () => {
  const { eventId } = (await send(50)).body;
  const [system] = (await laurel.admin.get('/v1/points')).body;
  const { body: triggers } = await laurel.admin.get(`/v1/points/${system.id}/triggers`);
  const { id } = triggers.find(({ points }: { points: number }) => points === 1);
  const path = `/v1/points/${system.id}/triggers`;
  expect((await laurel.admin.patch(path, [{ id, points: 100 }])).body.issues).toEqual([]);
  expect((await reverse(eventId)).points).toEqual([{ key: 'xp', total: 0, changed: -5, shortfall: 0 }]);
  await laurel.admin.patch(path, [{ id, points: 1 }]);
});

test('reverses no more than 1,000 at a time', async () => {
  const eventIds = Array.from({ length: 1_001 }, (_, n) => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`);
  const many = await laurel.admin.post('/v1/events/reverse', { eventIds });
  expect([many.status, many.body.error]).toEqual([400, expect.stringContaining('eventIds')]);
});

/** A user with one event of each kind. */
async function withEverything(): Promise<void> {
  const early = (await send(20, { key: 'in time' })).body.eventId;
  await send(30, { key: 'late', occurredAt: '2030-03-09T10:00:00Z' });
  const { eventId } = (await send(150, { key: 'released' })).body;
  await release(eventId);
  const waiting = (await send(160, { key: 'waiting' })).body.eventId;
  const { reversalId } = await reverse(early, { revokeAchievements: true });
  await reverse(eventId);
  await reverse(reversalId);
  expect((await laurel.admin.get(`/v1/quarantine?userId=${user}`)).body.events).toMatchObject([{ id: waiting }]);
}

test('the export has late events, reversals and quarantined events', async () => {
  await withEverything();
  const { body } = await laurel.admin.get(`/v1/users/${user}/export`);
  expect(body.metrics).toEqual({ steps: 50 });
  const values = body.events.map(({ value, localDate, occurredAt }: Record<string, unknown>) => [
    value,
    localDate,
    occurredAt,
  ]);
  expect(values).toHaveLength(6);
  expect(values).toEqual(
    expect.arrayContaining([
      [20, '2030-03-10', null],
      [30, '2030-03-09', '2030-03-09T10:00:00.000Z'],
      [150, '2030-03-10', null],
      [-20, '2030-03-10', expect.anything()],
      [-150, '2030-03-10', expect.anything()],
      [20, '2030-03-10', expect.anything()],
    ]),
  );
  expect(body.reversals).toHaveLength(3);
  const kept = body.quarantine.map(({ value, status }: { value: number; status: string }) => `${value} ${status}`);
  expect(kept.toSorted()).toEqual(['150 released', '160 waiting']);
});

test('deleting a user removes all of it, and a new user with the same ID begins with nothing', async () => {
  await withEverything();
  const reversed = (await laurel.admin.get(`/v1/users/${user}/export`)).body.events[0].id;
  expect((await laurel.admin.delete(`/v1/users/${user}`)).status).toBe(200);
  expect((await laurel.admin.post(`/v1/events/${reversed}/reverse`, {})).status).toBe(404);
  await expect
    .poll(async () => {
      const { rows } = await laurel.pool.query(
        `SELECT (SELECT count(*) FROM events WHERE user_id = $1) + (SELECT count(*) FROM reversals WHERE user_id = $1)
              + (SELECT count(*) FROM quarantine WHERE user_id = $1) + (SELECT count(*) FROM streak_changes WHERE user_id = $1)
              + (SELECT count(*) FROM awards WHERE user_id = $1) AS n`,
        [user],
      );
      return Number(rows[0].n);
    })
    .toBe(0);
  expect((await laurel.admin.post(`/v1/events/${reversed}/reverse`, {})).status).toBe(404);
  for (const key of ['in time', 'late', 'released']) {
    const { status, body } = await send(1, { key });
    expect([status, body.idempotentReplayed]).toEqual([201, false]);
  }
  const late = await send(2, { key: 'late again', occurredAt: '2030-03-09T10:00:00Z' });
  expect(late.body).toMatchObject({ total: 5, currentStreak: { length: 2 } });
  expect(await reverse(late.body.eventId)).toMatchObject({ status: 'reversed', total: 3, streak: 1 });
  expect((await laurel.app.get(`/v1/users/${user}/points/xp`)).body.total).toBe(0);
  expect(await differences()).toEqual([]);
});

test('reverses what a user sent in a time range, on any day it happened', async () => {
  const clock = (now: string) => laurel.admin.put('/v1/clock', { now });
  await send(1);
  await clock('2030-03-11T12:00:00Z');
  const late = (await send(2, { occurredAt: '2030-02-20T10:00:00Z' })).body.eventId;
  const kept = (await send(150)).body.eventId;
  const now = (await send(4)).body.eventId;
  await clock('2030-03-12T12:00:00Z');
  await release(kept);
  await send(8, { occurredAt: '2030-03-11T12:00:00Z' });
  const range = { userId: user, from: '2030-03-11T00:00:00Z', to: '2030-03-12T00:00:00Z' };
  const { body } = await laurel.admin.post('/v1/events/reverse', range);
  expect(body.issues).toEqual([]);
  const ids = (body.reversals as { eventId: string }[]).map(({ eventId }) => eventId);
  expect(new Set(ids)).toEqual(new Set([late, now]));
  expect(await total()).toBe(159);
});
