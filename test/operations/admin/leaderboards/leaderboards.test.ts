import { beforeAll, expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const PATH = '/v1/leaderboards';
const clock = new FixedClock(Date.UTC(2026, 5, 15, 12));
let metricId: string;
let pointsSystemId: string;
let plan: string;
let deck: string;
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, clock }));
beforeAll(async () => {
  metricId = (await laurel.admin.get('/v1/metrics')).body[0].id;
  pointsSystemId = (await laurel.admin.get('/v1/points')).body[0].id;
  const attributes = (await laurel.admin.get('/v1/attributes')).body;
  plan = attributes.find(({ key }: { key: string }) => key === 'plan').id;
  deck = attributes.find(({ key }: { key: string }) => key === 'deck').id;
});

let number = 0;
const board = (item: object = {}): object => ({
  name: 'Board',
  key: `board-${(number += 1)}`,
  rankBy: 'metric',
  metricId,
  ...item,
});
const make = async (item: object = {}) => {
  const { body } = await laurel.admin.post(PATH, [board(item)]);
  expect(body.issues).toEqual([]);
  return body.created[0];
};
const update = async (id: string, item: object) => {
  const { body } = await laurel.admin.patch(PATH, [{ id, ...item }]);
  return body.updated[0] ?? body.issues[0].message;
};

test('a new leaderboard begins on a day that has begun in every zone, so that all users count at once', async () => {
  const noonMs = clock.now();
  clock.set(noonMs - 1);
  try {
    const { start, key } = await make({ status: 'active' });
    // One millisecond before, it is still the 14th in UTC-12.
    expect(start).toBe('2026-06-14');
    for (const [id, tz] of [
      ['first', 'Pacific/Kiritimati'],
      ['last', 'Etc/GMT+12'],
    ])
      expect((await laurel.app.post('/v1/metrics/flips/event', { user: { id, tz }, value: 3 })).status).toBe(201);
    const { rankings } = (await laurel.app.get(`/v1/leaderboards/${key}`)).body;
    expect(rankings.map(({ userId }: { userId: string }) => userId).toSorted()).toEqual(['first', 'last']);
  } finally {
    clock.set(noonMs);
  }
});

test('admin_leaderboards_create: the defaults', async () => {
  const { status, body } = await laurel.admin.post(PATH, [{ name: 'Plain', key: 'plain', rankBy: 'streak' }]);
  expect(status).toBe(201);
  expect(body).toEqual({
    created: [
      {
        id: expect.any(String),
        name: 'Plain',
        key: 'plain',
        status: 'inactive',
        rankBy: 'streak',
        maxParticipants: 1000,
        start: '2026-06-15',
        breakdownAttributes: [],
      },
    ],
    issues: [],
  });
  expect((await laurel.app.get('/v1/leaderboards/plain')).status).toBe(404);
});

test('answers every field of a leaderboard', async () => {
  const item = {
    description: 'Everything',
    maxParticipants: null,
    start: '2026-06-01',
    end: '2026-12-31',
    startTime: '08:00',
    endTime: '18:30:00',
    breakdownAttributes: [plan],
    runUnit: 'month',
    runInterval: 2,
    status: 'active',
  };
  const made = await make(item);
  expect(made).toMatchObject({ ...item, metricId });
  expect((await laurel.admin.get(`${PATH}/${made.id}`)).body).toEqual(made);
  expect((await laurel.admin.get(`${PATH}?limit=100`)).body.at(-1)).toEqual(made);
});

test('refuses invalid leaderboards', async () => {
  const bad: [object, string][] = [
    [{ key: 'flips' }, `key: another leaderboard has the key 'flips'`],
    [{ maxParticipants: 0 }, 'maxParticipants must be at least 1'],
    [{ maxParticipants: 1001 }, 'maxParticipants must be at most 1000'],
    [{ rankBy: 'points' }, `metricId: only for rankBy 'metric'; pointsSystemId: required for rankBy 'points'`],
    [{ metricId: NOBODY }, `metricId: unknown metric '${NOBODY}'`],
    [{ metricId: undefined }, `metricId: required for rankBy 'metric'`],
    [{ start: '2026-06-31' }, 'start must be a date (YYYY-MM-DD)'],
    [{ end: '2026-06-14' }, 'end: must not be before start'],
    [{ startTime: '24:00' }, 'startTime must be a time of day (HH:MM or HH:MM:SS)'],
    [{ startTime: '08:00', endTime: '08:00' }, 'endTime: must differ from startTime'],
    [{ breakdownAttributes: [deck] }, `breakdownAttributes[0]: 'deck' is an event attribute`],
    [{ breakdownAttributes: ['plan'] }, 'breakdownAttributes[0] must be a UUID, not a key or name'],
    [{ breakdownAttributes: [plan, plan] }, `breakdownAttributes[1]: 'plan' is named twice`],
    [{ runInterval: 2 }, 'runInterval: only for boards with a runUnit'],
    [{ runUnit: 'hour' }, 'runUnit must be one of: day, month, year, week'],
    [{ runUnit: 'week', runInterval: 1_429 }, 'runInterval: must be at most 10000 days, which are 1428 weeks'],
    [
      { rankBy: 'streak', metricId: undefined, runUnit: 'day' },
      `runUnit: not for rankBy 'streak': such a board is perpetual`,
    ],
  ];
  const { status, body } = await laurel.admin.post(
    PATH,
    bad.map(([item]) => board(item)),
  );
  expect([status, body.created]).toEqual([200, []]);
  expect(body.issues.map(({ message }: { message: string }) => message)).toEqual(bad.map(([, message]) => message));
});

test('a repeating leaderboard repeats every unit by default, and may become perpetual', async () => {
  const made = await make({ runUnit: 'day' });
  expect(made.runInterval).toBe(1);
  const perpetual = await update(made.id, { runUnit: null });
  expect(perpetual).not.toHaveProperty('runUnit');
  expect(perpetual).not.toHaveProperty('runInterval');
  expect(await update(made.id, { runUnit: 'month' })).toMatchObject({ runUnit: 'month', runInterval: 1 });
});

test('weeks are stored as days, and every answer shows days', async () => {
  const made = await make({ runUnit: 'week', runInterval: 2, status: 'active' });
  expect(made).toMatchObject({ runUnit: 'day', runInterval: 14 });
  const { body } = await laurel.app.get(`/v1/leaderboards/${made.key}`);
  expect(body).toMatchObject({ runUnit: 'day', runInterval: 14 });
  await update(made.id, { status: 'inactive', runUnit: null });
  // Without `runInterval`, one week: nothing says whether the present one is in weeks.
  expect(await update(made.id, { runUnit: 'month', runInterval: 2 })).toMatchObject({ runInterval: 2 });
  expect(await update(made.id, { runUnit: 'week' })).toMatchObject({ runUnit: 'day', runInterval: 7 });
});

test('what it ranks can change only while the leaderboard is inactive', async () => {
  const { id } = await make({ status: 'active', start: '2026-06-01' });
  const change = { rankBy: 'points', pointsSystemId };
  expect(await update(id, change)).toContain(
    `rankBy: can be changed only while the leaderboard is inactive: set status 'inactive' first`,
  );
  for (const item of [
    { start: '2026-06-02' },
    { runUnit: 'day' },
    { breakdownAttributes: [plan] },
    { endTime: '12:00' },
  ]) {
    expect(await update(id, item)).toContain('can be changed only while the leaderboard is inactive');
  }
  const free = { name: 'Renamed', key: 'renamed', description: 'New', maxParticipants: 5, end: '2026-07-01' };
  expect(await update(id, { ...free, rankBy: 'metric', start: '2026-06-01' })).toMatchObject(free);
  expect(await update(id, { key: 'flips' })).toBe(`key: another leaderboard has the key 'flips'`);
  expect(await update(id, { end: null })).not.toHaveProperty('end');
  expect((await update(id, { status: 'inactive' })).status).toBe('inactive');
  const ranked = await update(id, change);
  expect(ranked).toMatchObject(change);
  expect(ranked).not.toHaveProperty('metricId');
  expect(await update(id, { rankBy: 'streak', status: 'active' })).toMatchObject({
    rankBy: 'streak',
    status: 'active',
  });
});

test('the clock decides the status, and finished is final', async () => {
  const { id, status } = await make({ status: 'active', start: '2026-06-20', end: '2026-06-25' });
  expect(status).toBe('scheduled');
  const shown = async () => (await laurel.admin.get(`${PATH}/${id}`)).body.status;
  clock.set(Date.UTC(2026, 5, 20));
  expect(await shown()).toBe('active');
  clock.set(Date.UTC(2026, 5, 26));
  expect(await shown()).toBe('finished');
  for (const back of ['active', 'scheduled', 'inactive']) {
    expect(await update(id, { status: back })).toBe(
      `status: cannot become '${back}': the leaderboard is finished; create another one`,
    );
  }
  expect(await update(id, { end: '2026-12-31' })).toBe('end: cannot be changed: the leaderboard is finished');
  expect(await update(id, { start: '2026-06-21' })).toContain('it is finished');
  expect(await update(id, { name: 'Past', status: 'finished' })).toMatchObject({ name: 'Past', status: 'finished' });

  const early = await make({ status: 'active', start: '2026-06-01' });
  expect((await update(early.id, { status: 'finished' })).status).toBe('finished');
  expect(await update(early.id, { status: 'active' })).toContain('the leaderboard is finished');
});

test('admin_leaderboards_delete: it is gone, and its key is free', async () => {
  const made = await make({ key: 'gone', status: 'active', start: '2026-06-01' });
  expect((await laurel.app.get('/v1/leaderboards/gone')).status).toBe(200);
  expect((await laurel.admin.delete(`${PATH}?ids=${made.id}`)).body).toEqual({
    deleted: [{ id: made.id }],
    issues: [],
  });
  expect((await laurel.app.get('/v1/leaderboards/gone')).status).toBe(404);
  expect((await laurel.admin.get(`${PATH}/${made.id}`)).status).toBe(404);
  expect((await make({ key: 'gone' })).id).not.toBe(made.id);
  expect((await laurel.admin.delete(`${PATH}?ids=no-uuid`)).status).toBe(422);
});

test('a leaderboard counts events once it is activated', async () => {
  const { id } = await make({ key: 'fresh', start: '2026-06-01' });
  const event = async () =>
    (await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 })).body.leaderboards;
  expect(await event()).not.toHaveProperty('fresh');
  await update(id, { status: 'active' });
  expect((await event()).fresh).toMatchObject({ rank: 1 });
});

test('exporting and applying the configuration after these creations changes nothing', async () => {
  const { body } = await laurel.admin.get('/v1/configuration');
  const applied = await laurel.admin.put('/v1/configuration', body);
  expect([applied.status, applied.body.changes]).toEqual([200, []]);
});
