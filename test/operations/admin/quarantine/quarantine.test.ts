import { expect, test } from 'vitest';
import { untilPersisted } from '../../../../src/engine/persist/cursor-wait.ts';
import { quarantineKey } from '../../../../src/redis/keys.ts';
import { knownPart } from '../../../../src/redis/parts.ts';
import { startLaurel } from '../../../laurel.ts';
import { emptyRedis } from '../../../stack/all-servers.ts';
import { differencesIn } from '../../../differences.ts';
import { opened } from '../../../stack/opened.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const laurel = opened(() =>
  startLaurel({
    workers: true,
    configuration: {
      metrics: [
        { key: 'steps', name: 'Steps', guards: { maxValue: { limit: 100, action: 'quarantine' } } },
        { key: 'words', name: 'Words', guards: { maxTotal: { limit: 10, action: 'refuse' } } },
        { key: 'cut', name: 'Cut', guards: { maxSumPerHour: { limit: 10, action: 'clamp' } } },
      ],
      achievements: [{ name: 'far', trigger: 'metric', metricKey: 'steps', metricValue: 1000, status: 'active' }],
      pointsSystems: [
        {
          key: 'xp',
          name: 'XP',
          triggers: [{ type: 'metric', metricKey: 'steps', metricThreshold: 100, points: 1, status: 'active' }],
        },
      ],
      leaderboards: [
        { key: 'top', name: 'Top', rankBy: 'metric', metricKey: 'steps', start: '2026-01-01', status: 'active' },
      ],
    },
  }),
);

const send = (user: string, value: number, more: { metric?: string; key?: string } = {}) =>
  laurel.app.post(
    `/v1/metrics/${more.metric ?? 'steps'}/event`,
    { user: { id: user }, value },
    { headers: more.key === undefined ? {} : { 'Idempotency-Key': more.key } },
  );
const waiting = async (query = '') => (await laurel.admin.get(`/v1/quarantine?limit=100${query}`)).body.events;
const total = async (user: string) => (await laurel.app.get(`/v1/users/${user}/metrics/steps`)).body.current;
const timeline = async (user: string) =>
  (await laurel.admin.get(`/v1/users/${user}/timeline`)).body.entries.map(
    ({ kind, status }: { kind: string; status?: string }) => (status === undefined ? kind : `${kind} ${status}`),
  );
const differences = () => differencesIn(laurel);

test('keeps an event, lists it with filters, releases it once, and answers its effects', async () => {
  const kept = await send('ada', 1_000, { key: 'k1' });
  expect([kept.status, kept.body.total, kept.body.guarded]).toEqual([
    202,
    0,
    { guard: 'maxValue', action: 'quarantine' },
  ]);
  await send('bob', 500);
  const [bobs, adas] = await waiting();
  expect(adas).toEqual({
    id: kept.body.eventId,
    userId: 'ada',
    metricKey: 'steps',
    guard: 'maxValue',
    value: 1_000,
    attributes: null,
    idempotencyKey: 'k1',
    status: 'waiting',
    at: expect.any(String),
    settled: null,
  });
  expect(await waiting('&userId=bob')).toEqual([bobs]);
  expect(await waiting('&metricKey=words')).toEqual([]);
  expect(await waiting('&guard=maxValue&from=2026-01-01T00:00:00Z')).toHaveLength(2);
  expect(await waiting('&to=2020-01-01T00:00:00Z')).toEqual([]);
  const page = (await laurel.admin.get('/v1/quarantine?limit=1')).body;
  expect(page.events).toEqual([bobs]);
  expect((await laurel.admin.get(`/v1/quarantine?limit=1&cursor=${page.nextCursor}`)).body).toEqual({
    events: [adas],
    nextCursor: null,
  });
  expect((await laurel.admin.get('/v1/quarantine?metricKey=none')).status).toBe(422);
  expect(await timeline('ada')).toEqual(['quarantine waiting', 'user_creation']);
  expect(await differences()).toEqual([]);

  const released = await laurel.admin.post(`/v1/quarantine/${adas.id}/release`, undefined);
  expect(released.status).toBe(200);
  expect(released.body.event).toMatchObject({
    eventId: adas.id,
    total: 1_000,
    achievements: [{ name: 'far' }],
    points: { xp: { added: 10 } },
    leaderboards: { top: { rank: 1 } },
  });
  const again = await laurel.admin.post(`/v1/quarantine/${adas.id}/release`, undefined);
  expect(again.body).toEqual({ id: adas.id, event: null });
  expect(await total('ada')).toBe(1_000);
  const retried = await send('ada', 1_000, { key: 'k1' });
  expect([retried.status, retried.body.eventId, retried.body.idempotentReplayed]).toEqual([202, adas.id, true]);
  expect(await total('ada')).toBe(1_000);
  expect(await timeline('ada')).toEqual(['administration', 'event', 'user_creation']);
  expect(await waiting('&status=released')).toMatchObject([{ id: adas.id, settled: expect.any(String) }]);
  const { body: log } = await laurel.admin.get('/v1/audit-log?kind=quarantined_event');
  expect(log[0]).toMatchObject({ action: 'release', resourceId: adas.id, userId: 'ada' });
  expect(await differences()).toEqual([]);
});

test('concurrent releases apply an event once', async () => {
  const { eventId } = (await send('many', 300)).body;
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => laurel.admin.post(`/v1/quarantine/${eventId}/release`, undefined)),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect(answers.filter(({ body }) => body.event !== null)).toHaveLength(1);
  expect(await total('many')).toBe(300);
});

test('a dropped event is never applied, and its key stays used', async () => {
  const { eventId } = (await send('cleo', 400, { key: 'dropped' })).body;
  const { body: kept } = await laurel.admin.get('/v1/users/cleo/timeline?kind=quarantine');
  expect(kept.entries).toEqual([
    {
      kind: 'quarantine',
      position: eventId,
      at: expect.any(String),
      id: eventId,
      metric: { id: expect.any(String), key: 'steps', name: 'Steps' },
      guard: 'maxValue',
      value: 400,
      attributes: null,
      idempotencyKey: 'dropped',
      status: 'waiting',
      settled: null,
    },
  ]);
  const { status, body } = await laurel.admin.delete(`/v1/quarantine/${eventId}`);
  expect([status, body]).toEqual([200, { deleted: [{ id: eventId }], issues: [] }]);
  expect((await laurel.admin.post(`/v1/quarantine/${eventId}/release`, undefined)).status).toBe(404);
  expect(await timeline('cleo')).toEqual(['administration', 'quarantine dropped', 'user_creation']);
  const retried = await send('cleo', 400, { key: 'dropped' });
  expect([retried.status, retried.body.total, retried.body.eventId]).toEqual([202, 0, eventId]);
  expect((await laurel.admin.delete(`/v1/quarantine/${NOBODY}`)).status).toBe(404);
});

test('many at once; issues name the missing ones', async () => {
  const ids = [];
  for (const value of [101, 102, 103]) ids.push((await send('dora', value)).body.eventId);
  const released = await laurel.admin.post('/v1/quarantine/release', { ids: [ids[1], NOBODY, ids[0]] });
  expect(released.body.released.map(({ event }: { event: { total: number } }) => event.total)).toEqual([101, 203]);
  expect(released.body.issues).toMatchObject([{ id: NOBODY, message: 'There is no event in quarantine with this ID' }]);
  const dropped = await laurel.admin.post('/v1/quarantine/drop', { ids: [ids[2], ids[0]] });
  expect(dropped.body.deleted).toEqual([{ id: ids[2] }]);
  expect(dropped.body.issues).toMatchObject([{ id: ids[0] }]);
  expect((await laurel.admin.post('/v1/quarantine/drop', { ids: [], all: true })).status).toBe(400);
  expect((await laurel.admin.post('/v1/quarantine/drop', { ids: [] })).status).toBe(400);
});

test('refused, quarantined or clamped items of a batch do not stop the others', async () => {
  const events = [
    { key: 'steps', user: { id: 'eva' }, value: 5 },
    { key: 'steps', user: { id: 'eva' }, value: 500, idempotencyKey: 'b' },
    { key: 'words', user: { id: 'eva' }, value: 11 },
    { key: 'cut', user: { id: 'eva' }, value: 12 },
    { key: 'steps', user: { id: 'eva' }, value: 6 },
    { key: 'steps', user: { id: 'eva' }, value: 7, idempotencyKey: 'b' },
  ];
  const { body } = await laurel.admin.post('/v1/metrics/events?wait=true', events);
  expect(body.results).toMatchObject([
    { status: 201, total: 5 },
    { status: 202, total: 5, replayed: false, guarded: { guard: 'maxValue', action: 'quarantine' } },
    { status: 422, error: expect.stringContaining("Refused by the guard 'maxTotal' of the metric 'words'") },
    { status: 201, total: 10, guarded: { guard: 'maxSumPerHour', action: 'clamp', value: 10 } },
    { status: 201, total: 11 },
    { status: 202, replayed: true, guarded: { guard: 'maxValue', action: 'quarantine' } },
  ]);
  const { body: counts } = await laurel.admin.get('/v1/users/eva/guards');
  expect(counts).toMatchObject([
    { metricKey: 'steps', guard: 'maxValue', refused: 0, clamped: 0, quarantined: 1 },
    { metricKey: 'words', guard: 'maxTotal', refused: 1, clamped: 0, quarantined: 0 },
    { metricKey: 'cut', guard: 'maxSumPerHour', refused: 0, clamped: 1, quarantined: 0 },
  ]);
});

test('deleting a user deletes quarantined events, which the export shows before', async () => {
  await send('finn', 200, { key: 'f' });
  await send('finn', 300);
  const { body: all } = await laurel.admin.get('/v1/users/finn/export');
  expect(all.quarantine).toMatchObject([
    { metric: 'steps', guard: 'maxValue', value: 200, status: 'waiting', idempotencyKey: 'f' },
    { value: 300 },
  ]);
  expect(all.guards).toMatchObject([{ metric: 'steps', guard: 'maxValue', quarantined: 2 }]);
  await laurel.admin.delete('/v1/users/finn');
  expect(await waiting('&userId=finn')).toEqual([]);
  expect((await laurel.admin.get('/v1/users/finn/guards')).body).toEqual([]);
  const again = await send('finn', 200, { key: 'f' });
  expect([again.status, again.body.idempotentReplayed]).toEqual([202, false]);
  expect(await differences()).toEqual([]);
});

test('a rebuilt Redis knows the quarantined events', async () => {
  const { eventId } = (await send('gus', 900, { key: 'g' })).body;
  await untilPersisted(laurel, 0);
  const key = quarantineKey(knownPart(laurel.redis, 0, 'gus'));
  expect(await laurel.redis.hget(key, 'gus')).toMatch(/^[0-9a-f]{32}2$/);
  await laurel.redis.hdel(key, 'gus');
  expect(await differences()).toHaveLength(1);
  // Processes notice that Redis is empty, and rebuild it.
  await emptyRedis(laurel.redis);
  await expect
    .poll(async () => (await send('gus', 900, { key: 'g' })).body)
    .toMatchObject({ idempotentReplayed: true, guarded: { guard: 'maxValue', action: 'quarantine' } });
  expect(await differences()).toEqual([]);
  const released = await laurel.admin.post(`/v1/quarantine/${eventId}/release`, undefined);
  expect(released.body.event.total).toBe(900);
});

test('checks, shows and clears guards of a metric', async () => {
  const { body } = await laurel.admin.post('/v1/metrics', [
    { key: 'a', name: 'A', guards: { minSecondsBetween: { limit: 5, action: 'clamp' } } },
    { key: 'b', name: 'B', guards: { maxvalue: { limit: 5, action: 'clamp' } } },
    { key: 'c', name: 'C', guards: { maxTotal: { limit: -1, action: 'clamp' } } },
    {
      key: 'd',
      name: 'D',
      guards: { minValue: { limit: 5, action: 'refuse' }, maxValue: { limit: 4, action: 'refuse' } },
    },
    { key: 'e', name: 'E', guards: { maxSumPerDay: { limit: 5.5, action: 'refuse' } } },
    { key: 'f', name: 'F', guards: { maxTotal: { limit: 0.0000001, action: 'refuse' } } },
  ]);
  expect(body.issues.map(({ index, message }: { index: number; message: string }) => [index, message])).toEqual([
    [0, 'guards.minSecondsBetween.action must be one of: refuse, quarantine'],
    [1, 'guards.maxvalue is not a known field (did you mean maxValue?)'],
    [2, 'guards.maxTotal.limit: must be at least 0'],
    [3, 'guards.minValue.limit: must not be above maxValue.limit'],
    [5, 'guards.maxTotal.limit: must have at most 6 decimals'],
  ]);
  expect(body.created).toMatchObject([{ key: 'e', guards: { maxSumPerDay: { limit: 5.5, action: 'refuse' } } }]);
  const { id } = body.created[0];
  const { body: document } = await laurel.admin.get('/v1/configuration');
  expect(document.metrics.at(-1)).toMatchObject({
    key: 'e',
    guards: { maxSumPerDay: { limit: 5.5, action: 'refuse' } },
  });
  expect((await laurel.admin.post('/v1/configuration/diff', document)).body.changes ?? []).toEqual([]);
  const { body: cleared } = await laurel.admin.patch('/v1/metrics', [{ id, guards: null }]);
  expect(cleared.updated[0].guards).toBeUndefined();
});
