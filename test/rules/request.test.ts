import { expect, test } from 'vitest';
import { KIND, kindField, RECORD } from '../../src/packed/record-fields.ts';
import type { Plan } from '../../src/rules/plan.ts';
import { requestRecord } from '../../src/rules/record.ts';
import { applyRequest, type RequestOutcome, type UserRequest } from '../../src/rules/request.ts';
import type { User } from '../../src/rules/user.ts';
import { boardOf, DAY, dailyStreak, DAY_MS, freshUser, NOON, planOf, streakOf, systemOf } from './surroundings.ts';

const ID = 'f'.repeat(32);
const TOUR = { no: 1 };

/** The tour completes the composite, which pays points, which score. A new user gets a point. */
const PLAN: Partial<Plan> = {
  metric: 0,
  achievements: [{ no: 3, of: [1] }],
  systems: [systemOf({ creation: [{ no: 20, points: 1 }], achievement: [{ no: 23, points: 4, achievement: 3 }] })],
  boards: [boardOf({ by: 'points', system: 5 })],
};

const apply = (user: User, request: Partial<UserRequest>, { isNew = false, plan = PLAN } = {}) =>
  applyRequest(
    user,
    { sent: null, ownBoosts: null, achievement: null, ...request },
    { plan: planOf(plan), nowMs: NOON, isNew },
  );

function applied(...call: Parameters<typeof apply>): RequestOutcome {
  const outcome = apply(...call);
  if ('refusal' in outcome) throw new Error(`refused: ${JSON.stringify(outcome)}`);
  return outcome;
}

const recordOf = (user: User, outcome: RequestOutcome, isNew: boolean) =>
  requestRecord(user, outcome, { plan: planOf(PLAN), nowMs: NOON, isNew, id: ID, userId: 'ada' });

test('a new user is welcomed', () => {
  const user = freshUser();
  const outcome = applied(user, { sent: { name: 'Ada' } }, { isNew: true });
  expect(user).toMatchObject({ name: 'Ada', points: new Map([[5, 1]]) });
  expect(outcome.scores).toMatchObject([{ score: 1 }]);
  const record = recordOf(user, outcome, true);
  expect(record).toMatchObject({ [kindField]: KIND.user, [RECORD.isNew]: 1, [RECORD.version]: 4 });
});

test('a completed achievement takes effect on all that follows, once', () => {
  const user = freshUser();
  const outcome = applied(user, { achievement: TOUR });
  expect(outcome.completed).toEqual([1, 3]);
  expect(user.points).toEqual(new Map([[5, 4]]));
  expect(recordOf(user, outcome, false)).toMatchObject({ [kindField]: KIND.completion, [RECORD.completed]: [1, 3] });
  const again = applied(user, { achievement: { ...TOUR, locked: true } });
  expect(again).toMatchObject({ completed: [], scores: [] });
  expect(recordOf(user, again, false)).toEqual({
    [kindField]: KIND.user,
    [RECORD.userId]: 'ada',
    [RECORD.atMs]: NOON,
    [RECORD.day]: DAY,
    [RECORD.id]: ID,
  });
});

test('the conditions of an achievement see the attributes that are sent with it', () => {
  const achievement = { no: 1, users: [[2, 'gold']] as [number, string][] };
  const sent = { attributes: new Map([[2, 'gold']]) };
  expect(applied(freshUser(), { sent, achievement }).completed).toEqual([1, 3]);
});

test.each<[string, Partial<UserRequest>, object]>([
  ['a locked achievement', { achievement: { no: 1, locked: true } }, { refusal: 'locked' }],
  ['unmet conditions', { achievement: { no: 1, users: [[2, 'gold']] } }, { refusal: 'unmetConditions' }],
  [
    'achievements that are required first',
    { achievement: { no: 1, requires: [6, 7, 8] } },
    { refusal: 'required', missing: [6, 8] },
  ],
  ['no address', { sent: { subscribe: true } }, { refusal: 'noAddress' }],
])('refusals: %s', (_name, request, refusal) => {
  expect(apply(freshUser({ completions: new Map([[7, NOON]]) }), request)).toEqual(refusal);
});

test('an achievement whose points cannot be paid is refused', () => {
  const achievement = [{ no: 23, points: -5, achievement: 1, blocks: true as const }];
  const plan = { ...PLAN, systems: [systemOf({ achievement })] };
  expect(apply(freshUser(), { achievement: TOUR }, { plan })).toEqual({ refusal: 'outOfPoints', trigger: 23 });
});

test('the streaks are settled first, and preferences apply', () => {
  const user = freshUser({
    createdMs: NOON - 9 * DAY_MS,
    updatedMs: NOON - 3 * DAY_MS,
    streaks: { daily: dailyStreak(5, DAY - 3), weekly: streakOf({}), monthly: streakOf({}) },
  });
  const { settlements } = applied(user, { sent: { daysOff: 1, streakRule: { enabled: false } } });
  expect(settlements).toMatchObject({ streaks: [{ kind: 'lost', length: 5 }] });
  expect(user).toMatchObject({
    daysOff: { set: 1, fromDay: DAY + 1, before: null },
    streakRule: { enabled: false, all: null, metrics: [] },
  });
});
