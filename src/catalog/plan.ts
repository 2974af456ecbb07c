/**
 * A plan: exactly what the script needs to apply an event of one metric, prepared once per catalog version and
 * UTC day. Local days differ from the UTC day by at most one, so what depends on the day comes in rows for three
 * days, and no calendar rule is written in Lua. Numbers are those of the catalog (`no`); fields that do not
 * apply are left out (Lua's nil).
 */
export interface Plan {
  /** Of the catalog. */
  version: number;
  /** Metric number; 0 in the plan of calls about a user that are no event. */
  metric: number;
  /** Local day (epoch day) of the first of the three rows. */
  firstDay: number;
  /** A row a day: day, week, month; first day of that day, week, month. */
  periods: [number, number, number, number, number, number][];
  streak: PlanStreak;
  achievements: PlanAchievement[];
  systems: PlanSystem[];
  boards: PlanBoard[];
  /** In plans for events: the numbers of all boards there are, and the newest number in this version of the catalog. */
  present?: { newest: number; boards: Record<number, true> };
  /** The metric's guards; absent: it has none, and their price is this one look. */
  guards?: PlanGuards;
  /** How many of the boards have a breakdown; absent: none. */
  grouped?: number;
  /** A metric trigger with `blockIfOutOfPoints` is among `systems`. */
  blocks?: true;
}

/** Guards, in the order in which an event meets them. */
export interface PlanGuards {
  asked: PlanGuard[];
  /** The plan is for events that are released from quarantine: nothing is asked. */
  release?: true;
}

/** A limit, and what happens to an event beyond it. */
export interface PlanGuard {
  /** GUARD. */
  kind: number;
  /** GUARD_ACTION. */
  action: number;
  whole: number;
  micros: number;
}

/** By what streaks are settled. */
export interface PlanSettling {
  /** 1 daily, 2 weekly, 3 monthly. */
  frequency: 1 | 2 | 3;
  /** Freezes are used. */
  frozen?: true | undefined;
  /** Freezes are earned: every so many days, amount, maximum, since when it is so (epoch ms). */
  earn?: [number, number, number, number] | undefined;
  /** Days off, as a set of weekdays. */
  off?: number | undefined;
  /** Users' own days off count. */
  own?: true | undefined;
}

export interface PlanStreak extends PlanSettling {
  on: boolean;
  /** True: every metric must reach its threshold; false: one. */
  all: boolean;
  /** `[metric no, whole, micros]`; empty: any event of positive value counts. */
  metrics: [number, number, number][];
  /** Streak freezes that a new user starts with. */
  freezes: number;
  /** What it was before, oldest first: when that ended (epoch ms), and the first day (epoch day) of its week 0. */
  before?: (PlanSettling & { ends: number; week: number })[];
  /** Numbers of all metrics, where users may have a rule of their own, which may name them. */
  personal?: number[];
}

/** `[attribute no, value]`, all must hold. */
export type PlanConditions = [number, string][];

export interface PlanAchievement {
  no: number;
  users?: PlanConditions;
  /** Metric achievements: the threshold, and whether the achievement counts matching events itself. */
  metric?: number;
  whole?: number;
  micros?: number;
  counted?: true;
  /** Streak achievements. */
  length?: number;
  frequency?: 1 | 2 | 3;
  /** Anniversaries: full years since the user's `signUpDate`. */
  years?: number;
  /** Composites: numbers of the achievements that must all be completed. */
  of?: number[];
  /** API achievements: no one new gets it. */
  locked?: true;
}

export interface PlanTrigger {
  no: number;
  points: number;
  users?: PlanConditions;
  threshold?: number;
  counted?: true;
  length?: number;
  achievement?: number;
  blocks?: true;
}

export interface PlanBoost {
  no: number;
  /** First and last local day (epoch days). */
  from: number;
  to?: number;
  multiplier: number;
  /** 1 down, 2 nearest, 3 up. */
  rounding: 1 | 2 | 3;
  users?: PlanConditions;
}

export interface PlanSystem {
  no: number;
  max?: number;
  creation: PlanTrigger[];
  metric: PlanTrigger[];
  streak: PlanTrigger[];
  achievement: PlanTrigger[];
  /** Only in the plan for paying `time` triggers. */
  time?: PlanTrigger[];
  boosts: PlanBoost[];
}

export interface PlanBoard {
  no: number;
  /** `none`: an event of this plan earns nothing on it. */
  by: 'metric' | 'points' | 'streak' | 'none';
  system?: number;
  max?: number;
  /** Seconds of the local day: only events from `from` to before `to` count. */
  from?: number;
  to?: number;
  /** Attribute numbers of the breakdown. */
  groups?: number[];
  /** First day of the run on each of the three days; −1: none. */
  runs: number[];
  /** Records hold the scores as well: a webhook is to hear of its ranks. */
  scores?: true;
  /** A webhook is to hear of its ranks, or of who was overtaken: events of batches are ranked, too. */
  heard?: true;
}

/** Achievements and triggers that count matching events themselves, with their event-attribute conditions. */
export interface Counter {
  no: number;
  /** Attribute key and value, all must match. */
  conditions: [string, string][];
}

export interface CompiledPlan {
  plan: Plan;
  /** The plan as the script takes it. */
  json: string;
  counters: Counter[];
  /** What an event by this plan may take of Redis at worst, in microseconds, see `event-work.ts`. */
  work: number;
}
