import type { SecondaryOrder } from '../domain/secondary-score.ts';
import type { Fold } from '../domain/rule-kinds.ts';

/**
 * A plan: everything the rules need to apply an event of one metric, compiled per catalog version and UTC day. A local day differs
 * from the UTC day by at most one, so day-dependent data comes in rows for three days, and applying an event needs no calendar. Numbers
 * are the catalog's (`no`). Fields that do not apply are absent.
 */
export interface Plan {
  version: number;
  /** Metric number; 0 in plans for calls that are not events. */
  metric: number;
  /** Local day (epoch day) of the first of the three rows. */
  firstDay: number;
  /** One row per day: day, week, month; first day of that day, week, month. */
  periods: [number, number, number, number, number, number][];
  streak: PlanStreak;
  achievements: PlanAchievement[];
  /** The metric's repeating achievements; absent for none. */
  quests?: PlanQuest[];
  /** The repeating achievements, of any metric, that require others; absent for none. */
  chains?: PlanQuest[];
  systems: PlanSystem[];
  boards: PlanBoard[];
  /** Plans for events only: the numbers of all existing leaderboards, and the newest number in this version of the catalog. */
  present?: { newest: number; boards: Record<number, true> };
  /** The metric's guards. If absent, guards cost an event only this check. */
  guards?: PlanGuards;
  /** `systems` contains a metric trigger with `blockIfOutOfPoints`. */
  blocks?: true;
  /** `boards` contains a leaderboard with leagues. */
  leagues?: true;
}

/** Guards in the order in which they run. */
export interface PlanGuards {
  asked: PlanGuard[];
  /** The plan is for events released from quarantine, which guards do not check. */
  release?: true;
}

export interface PlanGuard {
  kind: number;
  action: number;
  whole: number;
  micros: number;
}

export interface PlanSettling {
  /** 1 daily, 2 weekly, 3 monthly. */
  frequency: 1 | 2 | 3;
  frozen?: true | undefined;
  /** Earning of freezes: interval in days, amount, maximum, since when (epoch ms). */
  earn?: [number, number, number, number] | undefined;
  /** Days off, as a set of weekdays. */
  off?: number | undefined;
  /** Users may have their own days off. */
  own?: true | undefined;
}

export interface PlanStreak extends PlanSettling {
  on: boolean;
  /** Whether every metric must reach its threshold, or only one. */
  all: boolean;
  /** `[metric no, whole, micros]`. If empty, any event with a positive value counts. */
  metrics: [number, number, number][];
  freezes: number;
  /** Previous settings, oldest first, with their end (epoch ms) and the first day (epoch day) of their week 0. */
  before?: (PlanSettling & { ends: number; week: number })[];
  /** Numbers of all metrics, if users may have their own rules, which may name them. */
  personal?: number[];
}

/** `[attribute no, value]`; all must match. */
export type PlanConditions = [number, string][];

export interface PlanAchievement {
  no: number;
  users?: PlanConditions;
  /** Metric achievements: the threshold, and whether the achievement counts matching events itself. */
  metric?: number;
  whole?: number;
  micros?: number;
  counted?: true;
  length?: number;
  frequency?: 1 | 2 | 3;
  /** Anniversaries: full years since the user's `signUpDate`. */
  years?: number;
  /** Composites: numbers of the achievements that must all be completed. */
  of?: number[];
  /** Numbers of the achievements that must be completed before. */
  requires?: number[];
  /** API achievements: no further users can complete it. */
  locked?: true;
}

/** An achievement that is completed once a period. */
export interface PlanQuest extends Required<Pick<PlanAchievement, 'no' | 'whole' | 'micros'>> {
  users?: PlanConditions;
  requires?: number[];
  counted?: true;
  /** First and last local day (epoch days) on which events count. */
  from?: number;
  to?: number;
  /** 1 daily, 2 weekly, 3 monthly; or periods of `days` days, of which number 1 begins on the epoch day `first`; else one period. */
  frequency?: 1 | 2 | 3;
  days?: number;
  first?: number;
}

export interface PlanTrigger {
  no: number;
  points: number;
  users?: PlanConditions;
  threshold?: number;
  counted?: true;
  length?: number;
  achievement?: number;
  /** The points system that is watched, and its levels that count, lowest first. */
  watched?: number;
  levels?: PlanLevel[];
  blocks?: true;
}

/** `points`: those from which on a user has the level. */
export interface PlanLevel {
  no: number;
  points: number;
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
  /** Absent for none. */
  level?: PlanTrigger[];
  /** Only in plans for `time` triggers. */
  time?: PlanTrigger[];
  /** Only in plans for final ranks. */
  rank?: PlanTrigger[];
  boosts: PlanBoost[];
}

export interface PlanBoard {
  no: number;
  /** `none`: events of this plan do not change its scores. */
  by: 'metric' | 'points' | 'streak' | 'none';
  system?: number;
  /** What a score is of the events' values; absent: their sum. Values are negated with `sign`, in ascending order. */
  fold?: Fold;
  sign?: -1;
  /** Of equal scores, the one reached earlier ranks higher: see `timedMember` (src/packed/state.ts). */
  ties?: true;
  /** Key of the event attribute whose number decides between equal scores before the time does; which one is better. */
  secondary?: { key: string; order: SecondaryOrder };
  /** Scores up to this one are not on the board; absent: 0. Present whenever `fold`, `sign` or `ties` is. */
  floor?: number;
  /** Entries keep the metadata of events. */
  metadata?: true;
  max?: number;
  /** Seconds of the local day: events count from `from` until before `to`. */
  from?: number;
  to?: number;
  /** Attribute numbers of the breakdown. */
  groups?: number[];
  /** Number of the attribute that names a user's team, on boards that also rank teams. */
  team?: number;
  /** First day of the run on each of the three days; −1 if there is no run. */
  runs: number[];
  /** First day of the oldest run whose scores users keep; absent: the first of `runs`. */
  kept?: number;
  /** Records include the scores, because a webhook reports its ranks. */
  scores?: true;
  /** A webhook reports its ranks or overtaken users, so events of batches are also ranked. */
  heard?: true;
  /** Users with a score get cohorts. */
  leagues?: true;
}

/** Achievements and triggers that count matching events themselves, with their conditions on event attributes. */
export interface Counter {
  no: number;
  /** Attribute keys and values; all must match. */
  conditions: [string, string][];
}

export interface CompiledPlan {
  plan: Plan;
  counters: Counter[];
  /** Upper bound of an event's work in Redis, in microseconds; see `event-work.ts`. */
  work: number;
}
