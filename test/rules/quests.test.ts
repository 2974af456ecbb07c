import { expect, test } from 'vitest';
import { QUEST_PERIODS } from '../../src/packed/user-fields.ts';
import { SEASON } from '../../src/domain/repeat.ts';
import type { Plan, PlanQuest } from '../../src/rules/plan.ts';
import {
  countQuests,
  followChains,
  type LateQuestPeriod,
  type QuestOutcome,
  questPeriod,
} from '../../src/rules/quests.ts';
import { localDayOf } from '../../src/rules/streaks.ts';
import type { User } from '../../src/rules/user.ts';
import { DAY, decimal, freshUser, NOON, planOf } from './surroundings.ts';

const QUEST = 4;
const quest = (fields: Partial<PlanQuest> = {}): PlanQuest => ({ no: QUEST, ...decimal(10), frequency: 1, ...fields });
const row = (day: number) => localDayOf(planOf({}, day), day);

interface Counted {
  day?: number;
  counts?: number[];
  late?: Record<number, LateQuestPeriod>;
}

function count(
  user: User,
  fields: Partial<Plan>,
  value: number,
  { day = DAY, counts = [], late }: Counted = {},
): QuestOutcome {
  const outcome: QuestOutcome = { completed: [], quests: [] };
  const event = {
    value: decimal(value),
    nowMs: NOON,
    counts: new Map(counts.map((no) => [no, null])),
    late: late ?? null,
  };
  countQuests(planOf(fields, day), user, row(day), event, outcome);
  return outcome;
}

test.each<[string, Partial<PlanQuest>, number | null]>([
  ['a day', { frequency: 1 }, DAY],
  ['a week', { frequency: 2 }, 2856],
  ['a month', { frequency: 3 }, 54 * 12 + 9],
  ['the first of 10 days', { days: 10, first: DAY }, 1],
  ['the last of 10 days', { days: 10, first: DAY - 9 }, 1],
  ['the next 10 days', { days: 10, first: DAY - 10 }, 2],
  ['the first day of the season', { from: DAY }, DAY],
  ['the last day of the season', { to: DAY }, DAY],
  ['before the season', { from: DAY + 1 }, null],
  ['after the season', { to: DAY - 1 }, null],
])('periods: %s', (_name, fields, expected) => {
  expect(questPeriod(quest(fields), row(DAY))).toBe(expected);
});

test('without a repetition, the season is the only period', () => {
  expect(questPeriod({ no: QUEST, ...decimal(10) }, row(DAY))).toBe(SEASON);
});

test('a period is completed once, when its sum reaches the threshold', () => {
  const user = freshUser();
  const done = [9.5, 0.5, 20].map((value) => count(user, { quests: [quest()] }, value));
  expect(done.map(({ completed }) => completed)).toEqual([[], [QUEST], []]);
  expect(done.map(({ quests }) => quests[0]!.completed)).toEqual([0, 1, 2]);
  expect(done[2]!.quests).toEqual([{ achievement: QUEST, period: DAY, times: 1, ...decimal(30), completed: 2 }]);
});

test('each period is completed by its own events', () => {
  const user = freshUser();
  const completed = [0, 1, 2].map(
    (later) => count(user, { quests: [quest()] }, [10, 9, 10][later]!, { day: DAY + later }).completed,
  );
  expect(completed).toEqual([[QUEST], [], [QUEST]]);
  expect(user.quests.get(QUEST)!.times).toBe(2);
  expect(user.completions.get(QUEST)).toBe(NOON);
});

test('a period that was completed stays completed when its sum falls', () => {
  const user = freshUser();
  const completed = [10, -5, 5].map((value) => count(user, { quests: [quest()] }, value).completed);
  expect(completed).toEqual([[QUEST], [], []]);
});

test('the latest periods are kept, newest first; an event in an earlier one counts nowhere', () => {
  const user = freshUser();
  for (let later = 0; later < QUEST_PERIODS.most + 1; later += 1)
    count(user, { quests: [quest()] }, 1, { day: DAY + later });
  const periods = () => user.quests.get(QUEST)!.periods.map(({ period }) => period);
  expect(periods()).toEqual([DAY + 3, DAY + 2, DAY + 1]);
  expect(count(user, { quests: [quest()] }, 10, { day: DAY }).quests).toEqual([]);
  expect(count(user, { quests: [quest()] }, 10, { day: DAY + 1 }).completed).toEqual([QUEST]);
  expect(periods()).toEqual([DAY + 3, DAY + 2, DAY + 1]);
});

test('a quest that counts matching events counts no others', () => {
  const user = freshUser();
  const quests = [quest({ counted: true })];
  expect(count(user, { quests }, 10).quests).toEqual([]);
  expect(count(user, { quests }, 10, { counts: [QUEST] }).completed).toEqual([QUEST]);
});

test('a user who does not meet the conditions keeps the sum, and completes it with the next event', () => {
  const user = freshUser();
  const quests = [quest({ users: [[1, 'gold']] })];
  expect(count(user, { quests }, 10).completed).toEqual([]);
  user.attributes.set(1, 'gold');
  expect(count(user, { quests }, 0).completed).toEqual([QUEST]);
});

test('a late event counts in its own period', () => {
  const user = freshUser();
  const quests = [quest()];
  count(user, { quests }, 4);
  expect(count(user, { quests }, 10, { late: { [QUEST]: { period: DAY - 1 } } }).completed).toEqual([QUEST]);
  expect(user.quests.get(QUEST)!.periods).toMatchObject([
    { period: DAY, whole: 4 },
    { period: DAY - 1, whole: 10 },
  ]);
  expect(count(user, { quests }, 10, { late: {} }).quests).toEqual([]);
});

test('a late event in a period that the user no longer keeps adds to the stored sum, and is noted for recomputations', () => {
  const periods = [3, 2, 1].map((later) => ({ period: DAY + later, ...decimal(1), done: false }));
  const user = freshUser({ quests: new Map([[QUEST, { times: 0, periods }]]) });
  const late = { [QUEST]: { period: DAY, whole: 8, micros: 500_000, done: 0 } };
  expect(count(user, { quests: [quest()] }, 1.5, { late }).quests).toEqual([
    { achievement: QUEST, period: DAY, times: 1, ...decimal(10), completed: 1 },
  ]);
  expect(user.corrections).toBe(1);
  expect(user.quests.get(QUEST)!.periods).toHaveLength(QUEST_PERIODS.most);
});

test('what was required completes the period, and everything that follows from it', () => {
  const first = quest({ no: 1, requires: [9] });
  const second = quest({ no: 2, requires: [1, 3] });
  const achievements = [{ no: 3, of: [1] }];
  const user = freshUser();
  const plan = { quests: [first, second], chains: [second, first], achievements };
  const outcome = count(user, plan, 10);
  expect(outcome.completed).toEqual([]);
  user.completions.set(9, NOON);
  followChains(planOf(plan), user, row(DAY), { nowMs: NOON, outcome });
  expect(outcome.completed).toEqual([1, 3, 2]);
  expect(outcome.quests.map(({ achievement, completed }) => [achievement, completed])).toEqual([
    [1, 1],
    [2, 1],
  ]);
});
