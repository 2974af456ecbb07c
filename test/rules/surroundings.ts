import { type Decimal, toDecimal } from '../../src/domain/decimal.ts';
import type { EventSurroundings, RuleEvent } from '../../src/rules/event.ts';
import type { Plan, PlanBoard, PlanStreak, PlanSystem } from '../../src/rules/plan.ts';
import { newUser, type Streak, type User } from '../../src/rules/user.ts';

/** Friday, 4 October 2024, and its noon (UTC). */
export const DAY = 20_000;
export const DAY_MS = 86_400_000;
export const NOON = DAY * DAY_MS + DAY_MS / 2;

export const METRIC = 9;
export const EVENT_ID = '018bcfe56800700080000000000a0000';

export const decimal = (value: number): Decimal => toDecimal(value);

export const freshUser = (fields: Partial<User> = {}): User => ({
  ...newUser(NOON, { freezes: 0, generation: null }),
  ...fields,
});

export const totalsOf = (totals: Readonly<Record<number, number>>): User['totals'] =>
  new Map(Object.entries(totals).map(([no, total]) => [Number(no), { ...toDecimal(total), peak: null }]));

export const streakOf = (fields: Partial<Streak>): Streak => ({
  length: 0,
  startDay: null,
  lastPeriod: null,
  extendedMs: null,
  currentPeriod: null,
  sums: new Map(),
  ...fields,
});

/** A daily streak that was last extended on a day. */
export const dailyStreak = (length: number, lastDay: number): Streak =>
  streakOf({ length, startDay: lastDay - length + 1, lastPeriod: lastDay, currentPeriod: lastDay });

/** Weeks begin on Monday. */
function periodsOf(day: number): [number, number, number, number, number, number] {
  const week = Math.floor((day - 4) / 7);
  const date = new Date(day * DAY_MS);
  const month = (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
  return [day, week, month, day, week * 7 + 4, day - date.getUTCDate() + 1];
}

/** A daily streak that any positive value extends. */
export const streakRule = (fields: Partial<PlanStreak> = {}): PlanStreak => ({
  on: true,
  all: false,
  metrics: [],
  freezes: 0,
  frequency: 1,
  ...fields,
});

export const planOf = (fields: Partial<Plan> = {}, day = DAY): Plan => ({
  version: 4,
  metric: METRIC,
  firstDay: day - 1,
  periods: [periodsOf(day - 1), periodsOf(day), periodsOf(day + 1)],
  streak: streakRule(),
  achievements: [],
  systems: [],
  boards: [],
  ...fields,
});

/** A points system with number 5. */
export const systemOf = (fields: Partial<PlanSystem> = {}): PlanSystem => ({
  no: 5,
  creation: [],
  metric: [],
  streak: [],
  achievement: [],
  boosts: [],
  ...fields,
});

/** A leaderboard with number 8 and one run since `DAY`. */
export const boardOf = (fields: Partial<PlanBoard> = {}): PlanBoard => ({
  no: 8,
  by: 'metric',
  runs: [DAY, DAY, DAY],
  ...fields,
});

export const eventOf = (value: number, fields: Partial<RuleEvent> = {}): RuleEvent => ({
  id: EVENT_ID,
  value: toDecimal(value),
  sent: null,
  counted: [],
  ownBoosts: null,
  occurred: null,
  ...fields,
});

export const surroundings = (plan: Plan, fields: Partial<EventSurroundings> = {}): EventSurroundings => {
  const nowMs = fields.nowMs ?? NOON;
  return { plan, nowMs, isNew: false, reached: nowMs * 1000, quarantine: { events: '', total: 0 }, ...fields };
};
