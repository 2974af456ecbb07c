import { beforeAll, expect, test, vi } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { untilPersisted } from '../../../../src/engine/persist/cursor-wait.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const clock = new FixedClock(Date.parse('2026-11-22T12:00:00Z'));
const laurel = opened(() => startLaurel({ clock, configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  const hook = { name: 'Hook', url: 'https://example.org/hook', events: ['achievement.completed', 'points.changed'] };
  await laurel.admin.post('/v1/webhooks', [hook]);
  // Otherwise the jobs of the achievements' activation may complete them for users who were imported meanwhile.
  const areDone = async (): Promise<boolean> =>
    (await laurel.admin.get('/v1/backdatings')).body.every(({ status }: { status: string }) => status === 'done');
  await vi.waitUntil(areDone, { timeout: 120_000 });
});

const bring = (users: unknown, query = 'import=crm') => laurel.admin.post(`/v1/imports?${query}`, users);
const ADA = {
  id: 'ada',
  created: '2025-03-01T08:00:00Z',
  metrics: { flips: { total: 23, days: { '2026-11-20': 11, '2026-11-21': 12 } } },
  achievements: [{ key: 'ten', achievedAt: '2026-11-20T09:00:00Z' }],
  points: { xp: { total: 95, days: { '2026-11-20': 95 }, awards: [] } },
  streak: {
    frequency: 'daily',
    length: 2,
    started: '2026-11-20',
    expires: '2026-11-22',
    history: [
      { periodStart: '2026-11-19', periodEnd: '2026-11-19', length: 0 },
      { periodStart: '2026-11-20', periodEnd: '2026-11-20', length: 1 },
      { periodStart: '2026-11-21', periodEnd: '2026-11-21', length: 2 },
      { periodStart: '2026-11-22', periodEnd: '2026-11-22', length: 2 },
    ],
  },
};

test('admin_imports_create: imports good users, reports bad ones as issues, and skips unsupported parts and users with reasons', async () => {
  const { status, body } = await bring([
    ADA,
    { id: 'bo', metrics: { steps: { total: 5 }, flips: { total: 1, days: { '2026-02-30': 1 } } } },
    { id: 'cy', created: '2027-01-01T00:00:00Z' },
    { id: 'col', streak: { frequency: 'daily', length: 1, extended: '2016-12-31T23:59:60Z' } },
    {
      id: 'con',
      streak: {
        frequency: 'daily',
        length: 0,
        history: [{ periodStart: '2026-11-22', periodEnd: '2026-11-22', length: 0, resetAt: '2016-12-31T23:59:60Z' }],
      },
    },
    {
      id: 'dee',
      metrics: { steps: { total: 5, days: { '2026-11-01': 2, '2026-11-02': 3 } } },
      attributes: { shoe: '42' },
    },
    { id: 'mars', metrics: { flips: { total: 5 } }, tz: 'Mars/Base' },
    { id: '', name: 'Nobody' },
    { id: 'el', achievement: [] },
  ]);
  expect(body).toEqual({
    users: [
      { id: 'ada', status: 'imported', skipped: [] },
      {
        id: 'dee',
        status: 'imported',
        skipped: [
          { field: 'attributes.shoe', reason: 'no user attribute has this key', days: 0 },
          { field: 'metrics.steps', reason: 'no metric has this key', days: 2 },
        ],
      },
      {
        id: 'mars',
        status: 'skipped',
        skipped: [{ field: 'tz', reason: "'Mars/Base' is not an IANA time zone", days: 0 }],
      },
    ],
    issues: [
      { id: 'bo', ...says('error', "metrics.flips.days: '2026-02-30' is not a past day in the form YYYY-MM-DD.") },
      { id: 'cy', ...says('error', "created is in the future: '2027-01-01T00:00:00Z'.") },
      { id: 'col', ...says('error', "streak.extended is not a time from 1970 on: '2016-12-31T23:59:60Z'.") },
      { id: 'con', ...says('error', "streak.history.resetAt is not a time from 1970 on: '2016-12-31T23:59:60Z'.") },
      { id: '', ...says('error', 'id must not be empty') },
      { id: 'el', ...says('error', expect.stringContaining('achievement')) },
    ],
  });
  expect(status).toBe(201);
  expect((await laurel.app.get('/v1/users/mars')).status).toBe(404);
  expect((await laurel.app.get('/v1/users/dee')).status).toBe(200);
  // Skipped users change nothing, so nothing was created.
  const dry = await bring([{ id: 'mars', tz: 'Mars/Base' }], 'import=crm&dryRun=true');
  expect([dry.status, dry.body.users[0].status]).toEqual([200, 'skipped']);
});

test('an import accepts each user once; refuses another import of the user, and an existing user; a dry run changes nothing', async () => {
  await laurel.app.put('/v1/users/here', { name: 'Here' });
  const refused = (id: string) => ({
    id,
    ...says('error', 'The user exists and is not from this import: nothing was changed.'),
  });
  const twice = await bring([{ ...ADA, name: 'Another' }, { id: 'here' }]);
  expect(twice.status).toBe(200);
  expect(twice.body).toEqual({ users: [{ id: 'ada', status: 'already', skipped: [] }], issues: [refused('here')] });
  expect((await bring([ADA], 'import=other')).body).toEqual({ users: [], issues: [refused('ada')] });
  const dry = await bring([{ id: 'fay' }, ADA, { id: 'here' }], 'import=crm&dryRun=true');
  expect(dry.body.users).toEqual([
    { id: 'fay', status: 'ready', skipped: [] },
    { id: 'ada', status: 'already', skipped: [] },
  ]);
  expect((await laurel.app.get('/v1/users/fay')).status).toBe(404);
  expect((await laurel.app.get('/v1/users/ada')).body.name).toBe(null);
  // Concurrent imports of the same user apply once.
  const many = await Promise.all(Array.from({ length: 8 }, () => bring([{ ...ADA, id: 'gus' }])));
  expect(many.filter(({ status }) => status === 201)).toHaveLength(1);
  await untilPersisted(laurel, 0);
  const { rows } = await laurel.pool.query(`SELECT count(*)::int AS days FROM events WHERE user_id = 'gus'`);
  expect(rows).toEqual([{ days: 2 }]);
});

test('the user continues where it stopped: nothing is awarded or announced again', async () => {
  await untilPersisted(laurel, 0);
  const messages = async (): Promise<string[]> =>
    (await laurel.pool.query<{ type: string }>(`SELECT type FROM webhook_messages WHERE user_id <> 'here'`)).rows.map(
      ({ type }) => type,
    );
  expect(await messages()).toEqual([]);
  const { body } = await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 3 });
  expect(body.total).toBe(26);
  expect(body.currentStreak).toMatchObject({ length: 3, started: '2026-11-20', extended: true });
  expect(body.points.xp).toMatchObject({ total: 115, added: 20 });
  expect(body.achievements.map(({ key }: { key: string }) => key)).toEqual(['day', 'both']);
  expect(body.leaderboards.flips).toMatchObject({ rank: 1, previousRank: 1 });
});

test('a streak whose last day to act is over is lost, unless pauses cover the time since then', async () => {
  const streak = { frequency: 'daily', length: 3, started: '2026-11-03', expires: '2026-11-06' };
  const { body } = await bring([
    { id: 'over', streak },
    { id: 'paused', streak: { ...streak, pauses: [{ start: '2026-11-06', end: '2026-11-21' }] } },
    { id: 'ahead', streak: { frequency: 'daily', length: 1, started: '2027-01-01' } },
  ]);
  expect(body).toEqual({
    users: [
      { id: 'over', status: 'imported', skipped: [] },
      { id: 'paused', status: 'imported', skipped: [] },
    ],
    issues: [
      { id: 'ahead', ...says('error', expect.stringContaining('streak.started')) },
      { id: 'over', ...says('warning', expect.stringContaining('2026-11-06')) },
    ],
  });
  const read = async (id: string) => (await laurel.app.get(`/v1/users/${id}/streak?historyPeriods=20`)).body;
  const lengths = ({ streakHistory }: { streakHistory: { length: number }[] }) =>
    streakHistory.map(({ length }) => length);
  const over = await read('over');
  expect([over.length, over.expires]).toEqual([0, null]);
  expect(lengths(over)).toEqual([1, 2, 3, ...Array(17).fill(0)]);
  const paused = await read('paused');
  expect([paused.length, paused.started, paused.expires]).toEqual([3, '2026-11-03', '2026-11-22']);
  expect(lengths(paused)).toEqual([1, 2, ...Array(18).fill(3)]);
});

test('a deleted user can be imported again', async () => {
  await laurel.admin.delete('/v1/users?ids=ada');
  expect((await bring([ADA])).body.users).toEqual([{ id: 'ada', status: 'imported', skipped: [] }]);
  await untilPersisted(laurel, 0);
  const { rows } = await laurel.pool.query(`SELECT sum(value)::int AS total FROM events WHERE user_id = 'ada'`);
  expect(rows).toEqual([{ total: 23 }]);
  expect((await laurel.admin.get('/v1/users/ada/export')).body.events).toHaveLength(2);
  const timeline = await laurel.admin.get('/v1/users/ada/timeline');
  expect(timeline.status).toBe(200);
  expect(timeline.body.entries.map(({ kind }: { kind: string }) => kind)).toContain('event');
});

test('limits: a body that is no list of 1 to 100, an invalid name, a key that may only read', async () => {
  expect((await bring({})).status).toBe(422);
  expect((await bring([])).status).toBe(422);
  expect((await bring([ADA], 'import=a%20b')).status).toBe(422);
  expect((await bring([ADA], '')).status).toBe(422);
  const days = Object.fromEntries(
    Array.from({ length: 9_000 }, (_, day) => [new Date(day * 86_400_000).toISOString().slice(0, 10), 1]),
  );
  const awards = Array.from({ length: 32_000 }, () => ({ awarded: 1, date: '2026-01-01T00:00:00Z' }));
  const large = { id: 'large', metrics: { flips: { total: 1, days } }, points: { xp: { total: 1, awards } } };
  const { body } = await bring([large]);
  expect(body.issues[0].message).toContain('40000');
});

test('reverses an imported day like an event: total, streak and leaderboard as without it; points stay as imported', async () => {
  await bring([{ ...ADA, id: 'rue' }]);
  await untilPersisted(laurel, 0);
  const { body: timeline } = await laurel.admin.get('/v1/users/rue/timeline?kind=event');
  const [newest] = timeline.entries;
  expect(newest).toMatchObject({ value: 12, localDate: '2026-11-21' });
  const { status, body } = await laurel.admin.post(`/v1/events/${newest.id}/reverse`, {});
  expect([status, body]).toMatchObject([200, { status: 'reversed', total: 11, points: {} }]);
  expect((await laurel.app.get('/v1/users/rue/metrics/flips')).body.current).toBe(11);
  expect((await laurel.app.get('/v1/users/rue/points/xp')).body.total).toBe(95);
});
