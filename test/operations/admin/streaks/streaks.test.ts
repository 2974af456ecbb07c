import { afterAll, beforeAll, expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { startLaurel, type TestLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { says } from '../../issue.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const clock = new FixedClock(0);
let laurel: TestLaurel;
beforeAll(async () => {
  clock.set(Date.parse('2026-03-01T12:00:00Z'));
  laurel = await startLaurel({
    clock,
    workers: true,
    configuration: {
      ...STUDY_APP,
      streaks: { enabled: true, frequency: 'daily', freezes: { enabled: true, initial: 0, max: 2 } },
    },
  });
});
afterAll(() => laurel.close());

const at = (iso: string): void => clock.set(Date.parse(iso));
const act = (id: string, tz?: string) =>
  laurel.app.post('/v1/metrics/flips/event', { user: { id, ...(tz && { tz }) }, value: 1 });
const streak = async (id: string, periods = 0) =>
  (await laurel.app.get(`/v1/users/${id}/streak?historyPeriods=${periods}`)).body;
/** Histories follow events after a moment. */
const expectStreak = (id: string, periods: number) => expect.poll(() => streak(id, periods));
const pause = (...pauses: { userId: string; start: string; end: string }[]) =>
  laurel.admin.post('/v1/streaks/pauses', { pauses });
const freeze = (...userIds: string[]) =>
  laurel.admin.post('/v1/streaks/freezes', { freezes: userIds.map((userId) => ({ userId })) });
const restore = (...ids: string[]) => laurel.admin.post('/v1/streaks/restore', { users: ids.map((id) => ({ id })) });
const remove = (...ids: string[]) => laurel.admin.delete(`/v1/streaks/pauses?ids=${ids.join(',')}`);

test('admin_streaks_freezes_create: up to the maximum; more is a warning', async () => {
  at('2026-03-01T12:00:00Z');
  await act('f');
  expect(await streak('f')).toMatchObject({ freezes: 0, maxFreezes: 2 });
  expect(await freeze('f')).toMatchObject({ status: 201, body: { issues: [] } });
  const { status, body } = await freeze('f', 'f', 'stranger', '');
  expect(status).toBe(201);
  expect(body.issues).toEqual([
    { index: 1, userId: 'f', ...says('warning', 'The user has the maximum of 2 freezes already') },
    { index: 2, userId: 'stranger', ...says('error', 'There is no user with this ID') },
    { index: 3, userId: '', ...says('error', 'userId must not be empty') },
  ]);
  expect(await streak('f')).toMatchObject({ freezes: 2 });
  expect((await freeze('f')).status).toBe(200);

  at('2026-03-04T12:00:00Z');
  await expectStreak('f', 4).toMatchObject({
    length: 1,
    freezes: 0,
    expires: '2026-03-04',
    streakHistory: [
      { length: 1, usedFreeze: false },
      { length: 1, usedFreeze: true },
      { length: 1, usedFreeze: true },
      { length: 1, usedFreeze: false },
    ],
  });
  // A freeze given now is available tonight, not for the night before last.
  await freeze('f');
  at('2026-03-05T12:00:00Z');
  expect((await act('f')).body.currentStreak).toMatchObject({ length: 2, freezes: 0 });
  at('2026-03-07T00:00:00Z');
  expect(await streak('f')).toMatchObject({ length: 0, started: null });
});

test.each([
  ['freezes', { freezes: [] }],
  ['freezes', [{ userId: 'f' }]],
  ['freezes', { freezes: Array.from({ length: 101 }, () => ({ userId: 'f' })) }],
  ['pauses', { pauses: {} }],
  ['pauses', {}],
  ['restore', { users: [] }],
  ['reset', { users: [] }],
])('%s: a body that is not an object of 1 to 100 items is 422', async (path, body) => {
  expect((await laurel.admin.post(`/v1/streaks/${path}`, body)).status).toBe(422);
});

test('admin_streaks_pauses_create and _delete', async () => {
  at('2026-04-10T11:00:00Z');
  await act('p', 'Pacific/Kiritimati'); // there it is the 11th, 01:00
  const made = await pause(
    { userId: 'p', start: '2026-04-10', end: '2026-04-12' },
    { userId: 'p', start: '2026-04-12', end: '2026-04-14' },
    { userId: 'p', start: '2026-04-14', end: '2026-04-20' },
    { userId: 'p', start: '2026-04-22', end: '2026-04-21' },
    { userId: 'p', start: '2026-04-31', end: '2026-05-01' },
    { userId: 'stranger', start: '2026-04-12', end: '2026-04-14' },
    { userId: 'p', start: '2026-04-20', end: '2026-04-25' },
  );
  expect(made.status).toBe(201);
  expect(made.body.created).toEqual([
    { id: expect.any(String), userId: 'p', start: '2026-04-12', end: '2026-04-14', status: 'active' },
    { id: expect.any(String), userId: 'p', start: '2026-04-20', end: '2026-04-25', status: 'active' },
  ]);
  expect(made.body.issues).toMatchObject([
    { index: 0, userId: 'p', message: "start is in the past: the user's local date is 2026-04-11" },
    { index: 2, message: 'The user has a pause on some of these days already' },
    { index: 3, message: 'end must not be before start' },
    { index: 4, message: expect.stringContaining('start') },
    { index: 5, userId: 'stranger', message: 'There is no user with this ID' },
  ]);
  const [first, second] = made.body.created;
  expect((await streak('p')).pauses).toEqual([
    { id: first.id, start: '2026-04-12', end: '2026-04-14' },
    { id: second.id, start: '2026-04-20', end: '2026-04-25' },
  ]);

  // An event on a paused day extends; the other paused days keep the length.
  at('2026-04-12T11:00:00Z'); // the 13th
  expect((await act('p')).body.currentStreak).toMatchObject({ length: 2 });
  at('2026-04-14T11:00:00Z'); // the 15th
  await expectStreak('p', 5).toMatchObject({
    length: 2,
    streakHistory: [
      { length: 1, usedPause: false },
      { length: 1, usedPause: true },
      { length: 2, usedPause: false },
      { length: 2, usedPause: true },
      { length: 2, usedPause: false },
    ],
    pauses: [{ id: second.id }],
  });
  await act('p');
  at('2026-04-15T11:00:00Z');
  await act('p');

  // Deleted on its first day, a pause covers nothing; the IDs may be repeated or in one, each counts once.
  expect((await remove(second.id, NOBODY, second.id)).body).toEqual({
    deleted: [{ id: second.id }],
    issues: [{ id: NOBODY, ...says('error', 'There is no pause with this ID') }],
  });
  const again = await laurel.admin.delete(`/v1/streaks/pauses?ids=${second.id}`);
  expect(again.body).toMatchObject({ deleted: [], issues: [{ id: second.id }] });
  expect((await streak('p')).pauses).toEqual([]);

  // Deleted in the middle, it covers the past days.
  const [long] = (await pause({ userId: 'p', start: '2026-04-16', end: '2026-04-30' })).body.created;
  at('2026-04-18T11:00:00Z'); // the 19th
  await remove(long.id);
  await expectStreak('p', 4).toMatchObject({
    length: 4,
    expires: '2026-04-19',
    streakHistory: [{ length: 4, usedPause: false }, { usedPause: true }, { usedPause: true }, { usedPause: false }],
  });
  at('2026-04-19T11:00:00Z');
  expect(await streak('p')).toMatchObject({ length: 0 });
});

test('admin_streaks_restore: the longest of the last 90 days, waiting for today', async () => {
  at('2026-06-01T12:00:00Z');
  for (const day of ['01', '02', '03', '05', '07', '08']) {
    at(`2026-06-${day}T12:00:00Z`);
    await act('r');
  }
  at('2026-06-11T12:00:00Z');
  expect(await streak('r')).toMatchObject({ length: 0 });
  const { status, body } = await restore('r', 'stranger', 'r');
  expect(status).toBe(201);
  expect(body).toEqual({
    restoredUsers: ['r'],
    issues: [
      { userId: 'stranger', ...says('error', 'There is no user with this ID') },
      { userId: 'r', ...says('warning', 'There is no longer streak to restore') },
    ],
  });
  expect(await streak('r')).toMatchObject({ length: 3, started: '2026-06-01', expires: '2026-06-11' });
  expect((await act('r')).body.currentStreak).toMatchObject({ length: 4, extended: true });
  expect((await act('r')).body.currentStreak).toMatchObject({ length: 4, extended: false });
  at('2026-06-12T12:00:00Z');
  await act('r');
  await expectStreak('r', 12).toMatchObject({
    streakHistory: [1, 2, 3, 0, 1, 0, 1, 2, 0, 0, 4, 5].map((length) => ({ length })),
  });
  // Not restored, it is over tomorrow night like any other.
  at('2026-06-14T00:00:00Z');
  expect(await streak('r')).toMatchObject({ length: 0 });

  // 90 days after the last day of the longest, and one more.
  at('2026-09-10T12:00:00Z');
  expect((await restore('r')).body).toMatchObject({ restoredUsers: ['r'] });
  expect(await streak('r')).toMatchObject({ length: 5 });
  at('2026-12-10T12:00:00Z');
  expect(await restore('r')).toMatchObject({
    status: 200,
    body: { restoredUsers: [], issues: [{ userId: 'r', severity: 'warning' }] },
  });
});

test('admin_streaks_restore: the shorter streak that it replaces keeps its place in the history', async () => {
  for (const day of ['01', '02', '05']) {
    at(`2026-06-${day}T12:00:00Z`);
    await act('gave');
  }
  at('2026-06-06T12:00:00Z');
  expect((await restore('gave')).body).toMatchObject({ restoredUsers: ['gave'] });
  await expectStreak('gave', 6).toMatchObject({
    length: 2,
    streakHistory: [1, 2, 0, 0, 1, 2].map((length) => ({ length })),
  });
});

test('admin_streaks_restore: of equal ones the latest, even if it was lost just now', async () => {
  for (const day of ['2027-12-30', '2028-01-03']) {
    at(`${day}T12:00:00Z`);
    await act('equals');
  }
  at('2028-01-05T12:00:00Z');
  expect((await restore('equals')).body).toMatchObject({ restoredUsers: ['equals'] });
  expect(await streak('equals')).toMatchObject({ length: 1, started: '2028-01-03' });
});

const reset = (...ids: string[]) => laurel.admin.post('/v1/streaks/reset', { users: ids.map((id) => ({ id })) });

test('admin_streaks_reset: as if the streak were lost now; it can be restored', async () => {
  at('2029-09-01T12:00:00Z');
  await act('r');
  await freeze('r');
  at('2029-09-02T12:00:00Z');
  await act('r');
  const { status, body } = await reset('r', 'stranger');
  expect(status).toBe(200);
  expect(body).toEqual({
    resetUsers: ['r'],
    issues: [{ userId: 'stranger', ...says('error', 'There is no user with this ID') }],
  });
  expect(await reset('r')).toMatchObject({
    status: 200,
    body: { resetUsers: [], issues: [{ userId: 'r', ...says('warning', 'The user has no streak') }] },
  });
  const resetAt = '2029-09-02T12:00:00.000Z';
  await expectStreak('r', 2).toMatchObject({
    length: 0,
    started: null,
    freezes: 1,
    streakHistory: [{ length: 1 }, { length: 0, resetAt }],
  });
  expect((await streak('r', 2)).streakHistory[0]).not.toHaveProperty('resetAt');

  // Later events begin the next streak, on the same day.
  expect((await act('r')).body.currentStreak).toMatchObject({ length: 1, started: '2029-09-02', extended: true });
  expect((await act('r')).body.currentStreak).toMatchObject({ length: 1, extended: false });
  at('2029-09-03T12:00:00Z');
  await act('r');
  await expectStreak('r', 3).toMatchObject({
    length: 2,
    streakHistory: [{ length: 1 }, { length: 1, resetAt }, { length: 2 }],
  });

  // Before any event of its day, a reset leaves the earlier days unchanged.
  at('2029-09-04T12:00:00Z');
  await reset('r');
  await expectStreak('r', 3).toMatchObject({
    length: 0,
    streakHistory: [{ length: 1, resetAt }, { length: 2 }, { length: 0, resetAt: '2029-09-04T12:00:00.000Z' }],
  });
  expect((await restore('r')).body.restoredUsers).toEqual(['r']);
  expect(await streak('r')).toMatchObject({ length: 2, expires: '2029-09-04' });
  const resets = async (): Promise<unknown[]> =>
    (await laurel.admin.get('/v1/audit-log?limit=100')).body.filter(
      ({ action }: { action: string }) => action === 'reset',
    );
  const entry = { kind: 'streak', userId: 'r' };
  await expect.poll(resets).toMatchObject([entry, entry]);
});

test('a streak that was reset after its day was met is restored as met', async () => {
  at('2026-10-01T12:00:00Z');
  await act('m');
  at('2026-10-02T12:00:00Z');
  await act('m');
  await reset('m');
  await restore('m');
  expect(await streak('m')).toMatchObject({ length: 2, expires: '2026-10-03' });
  expect((await act('m')).body.currentStreak).toMatchObject({ length: 2, extended: false });
});
