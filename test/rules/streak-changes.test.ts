import { expect, test } from 'vitest';
import { RECORD } from '../../src/packed/record-fields.ts';
import type { Plan } from '../../src/rules/plan.ts';
import { streaksRecord } from '../../src/rules/record.ts';
import { changeStreaks, type StreakChange, type StreakOutcome } from '../../src/rules/streak-changes.ts';
import type { Pause, User } from '../../src/rules/user.ts';
import { boardOf, DAY, dailyStreak, DAY_MS, freshUser, NOON, planOf, streakOf, streakRule } from './surroundings.ts';

const pauseOf = (from: number, to: number, id = 'a'.repeat(32)): Pause => ({ from, to, id });

/** A user with a daily streak of 5 that today's activity has extended. */
const owner = (fields: Partial<User> = {}): User =>
  freshUser({
    createdMs: NOON - 30 * DAY_MS,
    updatedMs: NOON - DAY_MS / 4,
    streaks: { daily: dailyStreak(5, DAY), weekly: streakOf({}), monthly: streakOf({}) },
    ...fields,
  });

const change = (user: User, asked: StreakChange, plan: Partial<Plan> = {}) =>
  changeStreaks(user, asked, planOf({ metric: 0, ...plan }), NOON);

function changed(...call: Parameters<typeof change>): StreakOutcome {
  const outcome = change(...call);
  if ('refusal' in outcome) throw new Error(`refused: ${JSON.stringify(outcome)}`);
  return outcome;
}

const recordOf = (user: User, outcome: StreakOutcome) =>
  streaksRecord(user, outcome, { nowMs: NOON, id: 'f'.repeat(32), userId: 'ada' });

test('a freeze is given, not earned, up to the maximum', () => {
  const user = owner({ freezes: 1 });
  const outcome = changed(user, { kind: 'freeze', max: 2 });
  expect(user.freezes).toBe(2);
  expect(outcome.given).toEqual({ kind: 'given', day: DAY, count: 1 });
  const record = recordOf(user, outcome);
  expect(record).toMatchObject({ [RECORD.due]: 1, [RECORD.freezes]: 2, [RECORD.byAdmin]: 1 });
  expect(record).not.toHaveProperty(RECORD.freezesEarned);
  expect(change(user, { kind: 'freeze', max: 2 })).toEqual({ refusal: 'unchanged', why: 'full', day: DAY });
});

test('pauses are kept in order, and do not overlap', () => {
  const user = owner({ pauses: [pauseOf(DAY + 5, DAY + 6)] });
  const pause = pauseOf(DAY, DAY + 4);
  expect(changed(user, { kind: 'pause', pause }).pause).toEqual(pause);
  expect(user.pauses.map(({ from }) => from)).toEqual([DAY, DAY + 5]);
});

const hundred = Array.from({ length: 100 }, (_, at) => pauseOf(DAY + 2 * at, DAY + 2 * at));

test.each<[string, Partial<User>, StreakChange, string]>([
  ['a pause that begins before today', {}, { kind: 'pause', pause: pauseOf(DAY - 1, DAY) }, 'past'],
  [
    'a pause on days of another',
    { pauses: [pauseOf(DAY + 3, DAY + 4)] },
    { kind: 'pause', pause: pauseOf(DAY, DAY + 3) },
    'overlap',
  ],
  ['too many pauses', { pauses: hundred }, { kind: 'pause', pause: pauseOf(DAY + 900, DAY + 900) }, 'many'],
  ['a pause that is gone', {}, { kind: 'unpause', pause: pauseOf(DAY, DAY + 1) }, 'gone'],
  [
    'a pause that was cut before',
    { pauses: [pauseOf(DAY - 2, DAY - 1)] },
    { kind: 'unpause', pause: pauseOf(DAY - 2, DAY + 1) },
    'gone',
  ],
  ['a reset without a streak', { streaks: freshUser().streaks }, { kind: 'reset' }, 'idle'],
  ['nothing was lost', {}, { kind: 'restore', lost: null, since: DAY - 90 }, 'none'],
  [
    'the lost streak is not longer',
    {},
    { kind: 'restore', lost: { length: 5, from: DAY - 20, to: DAY - 15 }, since: DAY - 90 },
    'none',
  ],
])('refusals: %s', (_name, fields, asked, why) => {
  expect(change(owner(fields), asked)).toEqual({ refusal: 'unchanged', why, day: DAY });
});

test.each<[string, Pause, Pause[], Pause]>([
  ['one that has begun is cut', pauseOf(DAY - 2, DAY + 3), [pauseOf(DAY - 2, DAY - 1)], pauseOf(DAY - 2, DAY - 1)],
  ['one that begins today disappears', pauseOf(DAY, DAY + 3), [], pauseOf(DAY, DAY - 1)],
])('a deleted pause: %s', (_name, pause, kept, recorded) => {
  const user = owner({ pauses: [pause] });
  const outcome = changed(user, { kind: 'unpause', pause });
  expect(user.pauses).toEqual(kept);
  expect(recordOf(user, outcome)).toMatchObject({ [RECORD.pauses]: [[recorded.from, recorded.to, recorded.id]] });
});

test('a past pause that the user no longer keeps can still be deleted', () => {
  const pause = pauseOf(DAY - 80, DAY - 70);
  expect(changed(owner(), { kind: 'unpause', pause }).pause).toEqual(pause);
});

test('a reset ends all streaks, and uses up the periods that are met', () => {
  const weekly = { ...streakOf({ length: 2, startDay: DAY - 10, lastPeriod: 2855 }) };
  const user = owner({
    streaks: {
      daily: { ...dailyStreak(5, DAY), sums: new Map([[9, { whole: 1, micros: 0 }]]) },
      weekly,
      monthly: streakOf({}),
    },
  });
  const { settlements } = changed(user, { kind: 'reset' });
  expect(user.streaks).toMatchObject({
    daily: { length: 0, startDay: null, lastPeriod: DAY - 1, sums: new Map() },
    weekly: { length: 0, startDay: null, lastPeriod: 2855 },
  });
  expect(settlements.streaks).toEqual([
    { frequency: 'daily', kind: 'reset', from: DAY - 4, to: DAY, length: 5 },
    { frequency: 'weekly', kind: 'reset', from: DAY - 10, to: 2856 * 7 + 4 - 1, length: 2 },
  ]);
});

test.each<[string, User['streaks']['daily'], { to: number }, object, string[]]>([
  ['a shorter one is replaced', dailyStreak(5, DAY), { to: DAY - 10 }, { lastPeriod: DAY }, ['replaced', 'restored']],
  ['the user must still act today', streakOf({}), { to: DAY - 10 }, { lastPeriod: DAY - 1 }, ['restored']],
  ['today was met before a reset', streakOf({}), { to: DAY }, { lastPeriod: DAY }, ['restored']],
])('a restored streak: %s', (_name, daily, { to }, expected, kinds) => {
  const user = owner({ streaks: { daily, weekly: streakOf({}), monthly: streakOf({}) } });
  const lost = { length: 8, from: to - 7, to };
  const { settlements } = changed(user, { kind: 'restore', lost, since: DAY - 90 });
  expect(user.streaks.daily).toMatchObject({ length: 8, startDay: to - 7, ...expected });
  expect(settlements.streaks.map(({ kind }) => kind)).toEqual(kinds);
  expect(settlements.streaks.at(-1)).toEqual({
    frequency: 'daily',
    kind: 'restored',
    from: to - 7,
    to: DAY,
    length: 8,
  });
});

test('a streak that ends just now counts as lost, and of equal lengths the latest is restored', () => {
  const user = owner({
    updatedMs: NOON - 3 * DAY_MS,
    streaks: { daily: dailyStreak(5, DAY - 3), weekly: streakOf({}), monthly: streakOf({}) },
  });
  const lost = { length: 5, from: DAY - 40, to: DAY - 36 };
  const { settlements } = changed(user, { kind: 'restore', lost, since: DAY - 90 });
  expect(settlements.streaks.map(({ kind }) => kind)).toEqual(['lost', 'restored']);
  expect(user.streaks.daily).toMatchObject({ length: 5, startDay: DAY - 7, lastPeriod: DAY - 1 });
});

test('leaderboards of streaks follow', () => {
  const plan = { boards: [boardOf({ by: 'streak' })], streak: streakRule() };
  const user = owner({ scores: [{ board: 8, runDay: DAY, group: '', whole: 5, micros: 0 }] });
  expect(changed(user, { kind: 'reset' }, plan).scores).toMatchObject([{ oldScore: 5, score: 0 }]);
  expect(changed(owner(), { kind: 'freeze', max: 1 }).scores).toEqual([]);
});
