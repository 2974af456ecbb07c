import { expect, test } from 'vitest';
import { type AchievementHistory, backdate } from '../../src/rules/backdating.ts';
import type { Plan } from '../../src/rules/plan.ts';
import { isRefusal } from '../../src/rules/refusal.ts';
import type { User } from '../../src/rules/user.ts';
import { DAY, decimal, freshUser, METRIC, NOON, planOf, systemOf, totalsOf } from './surroundings.ts';

const counted = { no: 11, metric: METRIC, counted: true as const, ...decimal(10) };
const bonus = { no: 7, points: 5, achievement: 11 };

function apply(user: User, fields: Partial<Plan>, history: AchievementHistory | null = null) {
  const outcome = backdate(user, planOf(fields), { history, ownBoosts: null, nowMs: NOON });
  if (isRefusal(outcome)) throw new Error(`refused: ${outcome.refusal}`);
  return outcome;
}

const history = (fields: Partial<AchievementHistory>): AchievementHistory => ({
  achievement: 11,
  count: null,
  periods: null,
  ...fields,
});

test('a user whose total suffices completes the achievement and those that follow, and is paid', () => {
  const user = freshUser({ totals: totalsOf({ [METRIC]: 10 }) });
  const outcome = apply(user, {
    achievements: [
      { no: 11, metric: METRIC, ...decimal(10) },
      { no: 12, of: [11] },
    ],
    systems: [systemOf({ achievement: [bonus] })],
  });
  expect(outcome.completed).toEqual([11, 12]);
  expect(outcome.ledgers[0]?.awards).toMatchObject([{ trigger: 7, points: 5 }]);
  expect(apply(user, { achievements: [{ no: 11, metric: METRIC, ...decimal(10) }] }).completed, 'again').toEqual([]);
});

test.each([
  ['enough', 10, [11]],
  ['too little', 9, []],
])('matching events of the past are counted: %s', (_name, sum, completed) => {
  const user = freshUser();
  expect(apply(user, { achievements: [counted] }, history({ count: decimal(sum) })).completed).toEqual(completed);
  expect(user.counts).toEqual(new Map([[11, { ...decimal(sum), peak: null }]]));
});

test('of a repeating achievement, the current period is completed', () => {
  const user = freshUser();
  const periods = [
    { period: DAY, ...decimal(10), done: false },
    { period: DAY - 1, ...decimal(10), done: false },
  ];
  const quests = [{ no: 11, ...decimal(10), frequency: 1 as const }];
  const outcome = apply(user, { quests }, history({ periods }));
  expect(outcome.quests).toMatchObject([{ achievement: 11, period: DAY, times: 1, completed: 1 }]);
  expect(user.quests.get(11)?.periods.map(({ done }) => done)).toEqual([true, false]);
  expect(periods[0]!.done, 'the history is not changed').toBe(false);
});

test('a trigger that the balance cannot pay refuses all completions', () => {
  const systems = [systemOf({ achievement: [{ ...bonus, points: -5, blocks: true }] })];
  const user = freshUser({ totals: totalsOf({ [METRIC]: 10 }) });
  const plan = planOf({ achievements: [{ no: 11, metric: METRIC, ...decimal(10) }], systems });
  expect(backdate(user, plan, { history: null, ownBoosts: null, nowMs: NOON })).toEqual({
    refusal: 'outOfPoints',
    trigger: 7,
  });
});
