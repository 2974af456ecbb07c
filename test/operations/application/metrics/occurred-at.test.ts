import { beforeEach, expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { verify } from '../../../../src/engine/rebuild/verify.ts';
import { redisReady } from '../../../../src/redis/client.ts';
import { rebuildByHand } from '../../../engine/rebuild/by-hand.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const PATH = '/v1/metrics/flips/event';
const clock = new FixedClock(Date.parse('2026-11-18T12:00:00Z'));

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true, clock }));
beforeEach(async () => {
  await laurel.admin.patch('/v1/events/settings', { lateEventDays: 35, clientsMaySendLate: false });
});

const send = (id: string, occurredAt: string | null | undefined, key?: string) =>
  laurel.app.post(PATH, { user: { id }, value: 1, occurredAt }, key === undefined ? {} : { key });

const keyOf = async (userId: string): Promise<string> =>
  (await laurel.admin.post('/v1/application-api-keys', [{ userId }])).body.created[0].key;

test('a late event changes the day that it happened on, and pays now', async () => {
  for (const [day, length] of [
    ['16', 0],
    ['18', 1],
    ['17', 3],
  ] as const) {
    const { status, body } = await send('ada', `2026-11-${day}T09:30:00+01:00`);
    expect([status, body.currentStreak.length, body.currentStreak.extended]).toEqual([201, length, length > 0]);
  }
  const { body: streak } = await laurel.app.get('/v1/users/ada/streak?historyPeriods=3');
  expect(streak.streakHistory.map(({ length }: { length: number }) => length)).toEqual([1, 2, 3]);
  const { body: days } = await laurel.app.get(
    '/v1/users/ada/metrics/flips/event-summary?aggregation=daily&startDate=2026-11-16&endDate=2026-11-18',
  );
  expect(days.map(({ change }: { change: number }) => change)).toEqual([1, 1, 1]);
  const { body: exported } = await laurel.admin.get('/v1/users/ada/export');
  expect(exported.events.map(({ occurredAt }: { occurredAt: string }) => occurredAt)).toEqual([
    '2026-11-16T08:30:00.000Z',
    '2026-11-17T08:30:00.000Z',
    '2026-11-18T08:30:00.000Z',
  ]);
});

test('null counts as absent; refuses a time without an offset, naming the field', async () => {
  expect((await send('bob', null)).status).toBe(201);
  for (const occurredAt of ['yesterday', '2026-11-17', '2026-11-17T09:30:00', '2026-02-30T09:30:00Z', 5]) {
    const { status, body } = await send('bob', occurredAt as string);
    expect([status, body.error]).toEqual([400, expect.stringContaining('occurredAt')]);
  }
  for (const occurredAt of ['2026-11-18T12:05:01Z', '2026-10-14T11:59:00Z']) {
    const { status, body } = await send('bob', occurredAt);
    expect([status, body.error]).toEqual([422, expect.stringContaining('occurredAt')]);
  }
  expect((await send('bob', undefined)).body.total).toBe(2);
});

test('application keys may send it only if they are allowed to, and 48 hours back', async () => {
  const key = await keyOf('eve');
  const refused = await send('eve', '2026-11-17T12:00:00Z', key);
  expect([refused.status, refused.body.error]).toEqual([403, expect.stringContaining('occurredAt')]);
  await laurel.admin.patch('/v1/events/settings', { clientsMaySendLate: true });
  await expect.poll(async () => (await send('eve', '2026-11-16T12:00:01Z', key)).status).toBe(201);
  expect((await send('eve', '2026-11-16T11:59:59Z', key)).status).toBe(422);
  expect((await send('eve', '2026-11-16T11:59:59Z')).status).toBe(201);
});

test('without permission to send earlier days, the last 24 hours are still allowed', async () => {
  await laurel.admin.patch('/v1/events/settings', { lateEventDays: 0 });
  await expect.poll(async () => (await send('grace', '2026-11-17T11:00:00Z')).status).toBe(422);
  expect((await send('grace', '2026-11-18T00:10:00Z')).status).toBe(201);
});

test('how late events may be is a setting of the tenant, in its configuration document as well', async () => {
  const { body: document } = await laurel.admin.get('/v1/configuration');
  expect(document.events).toEqual({ lateEventDays: 35, clientsMaySendLate: false, signUpDateWritableBy: 'server' });
  const sent = { events: { lateEventDays: 2 } };
  const change = {
    action: 'update',
    kind: 'events',
    name: 'events',
    fields: ['lateEventDays'],
    before: { lateEventDays: 35 },
    after: { lateEventDays: 2 },
  };
  expect((await laurel.admin.post('/v1/configuration/diff', sent)).body.changes).toEqual([change]);
  expect((await laurel.admin.put('/v1/configuration', sent)).body.changes).toEqual([change]);
  expect((await laurel.admin.put('/v1/configuration', sent)).body.changes).toEqual([]);
  const { body: settings } = await laurel.admin.get('/v1/events/settings');
  expect(settings).toEqual({ lateEventDays: 2, clientsMaySendLate: false, signUpDateWritableBy: 'server' });
  expect((await send('ivy', '2026-11-16T12:00:00Z')).status).toBe(201);
  expect((await send('ivy', '2026-11-16T11:59:59Z')).status).toBe(422);
  const batch = [{ key: 'flips', user: { id: 'ivy' }, value: 1, occurredAt: '2026-11-16T11:59:59Z' }];
  expect((await laurel.admin.post('/v1/metrics/events', batch)).status).toBe(422);
  const { body: log } = await laurel.admin.get('/v1/audit-log?limit=1&kind=events');
  expect(log).toMatchObject([{ action: 'update', after: { lateEventDays: 2 } }]);

  for (const body of [
    { lateEventDays: 401 },
    { lateEventDays: -1 },
    { lateEventDays: 1.5 },
    { clientsMaySendLate: 'y' },
  ])
    expect((await laurel.admin.patch('/v1/events/settings', body)).status).toBe(400);
  expect((await laurel.admin.put('/v1/configuration', { events: { lateEventDays: 401 } })).status).toBe(400);

  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  for (const customerId of ['acme', 'globex'])
    await laurel.admin.post('/v1/tenants', [{ customerId, name: customerId }]);
  const of = (tenant: string) => ({ headers: { 'Tenant-ID': tenant } });
  await laurel.admin.patch('/v1/events/settings', { lateEventDays: 100 }, of('acme'));
  const daysOf = async (tenant: string) =>
    (await laurel.admin.get('/v1/events/settings', of(tenant))).body.lateEventDays;
  expect([await daysOf('acme'), await daysOf('globex')]).toEqual([100, 35]);
  await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
});

test('concurrent late events of one user all count, each once, and Redis and Postgres agree afterwards', async () => {
  const days = [8, 9, 10, 11, 12, 13, 14, 15, 16, 17];
  const ofDay = (day: number) =>
    laurel.app.post(
      PATH,
      { user: { id: 'mary' }, value: 1, occurredAt: `2026-11-${String(day).padStart(2, '0')}T12:00:00Z` },
      { headers: { 'Idempotency-Key': `day ${day}` } },
    );
  await Promise.all(
    days.map(async (day) => {
      let answer = await ofDay(day);
      // On a busy machine the last ones may wait too long for their turn.
      while (answer.status === 503) answer = await ofDay(day);
      expect(answer).toMatchObject({ status: expect.toBeOneOf([201, 202]) });
    }),
  );
  const before = (await laurel.app.get('/v1/users/mary/streak?historyPeriods=12')).body;
  const redis = await laurel.connect();
  await redisReady(redis);
  try {
    expect(await verify({ redis, pool: laurel.pool, onDifference: () => undefined })).toBe(0);
    await rebuildByHand(laurel, redis);
  } finally {
    redis.disconnect();
  }
  await expect.poll(async () => (await laurel.app.get('/v1/users/mary/streak?historyPeriods=12')).status).toBe(200);
  expect((await laurel.app.get('/v1/users/mary/streak?historyPeriods=12')).body).toEqual(before);
  expect(before.length).toBe(10);
});
