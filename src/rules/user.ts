import type { SignUp } from '../domain/anniversary.ts';
import type { Decimal } from '../domain/decimal.ts';
import type { Frequency, OwnDaysOff } from '../domain/periods.ts';
import type { StreakAsLeft } from '../domain/streaks/streak.ts';

/**
 * Everything that Laurel knows about a user and that rules read or change. Resources are named by their numbers in the catalog
 * (`no`), days are epoch days, times are epoch ms. `user-codec.ts` converts it from and to the stored bytes.
 *
 * The rules change a user in place. After a refusal the user may be half changed and must be decoded again.
 */
export interface User {
  createdMs: number;
  updatedMs: number;
  /** UTC day of the last event; `null` before the first. */
  activeDay: number | null;
  /** The last UTC day (modulo `USED_KEYS.days`) on which idempotency keys were used, and their number; `null` if never. */
  usedKeys: { day: number; count: number } | null;
  /** Metric number → running total. */
  totals: Map<number, Total>;
  /** Achievement or trigger number → running total of the matching events. */
  counts: Map<number, Total>;
  /** Points system number → total; without entries of 0. */
  points: Map<number, number>;
  /** Achievement number → time of completion; of a repeating one, the latest. */
  completions: Map<number, number>;
  /** By number of the leaderboard, newest run first. */
  scores: Score[];
  streaks: Record<Frequency, Streak>;
  freezes: number;
  /** The local day from which the next earning interval counts; `null` if not known yet. */
  earnedDay: number | null;
  /** Sorted by first day. */
  pauses: Pause[];
  /** The user's own streak rule; `null`: as for everyone. */
  streakRule: OwnStreakRule | null;
  daysOff: OwnDaysOff | null;
  /** Midnights up to this time are settled, under earlier settings. */
  settledMs: number | null;
  /** The local day that had begun when the user moved west; `null` if no day occurred twice. */
  begunDay: number | null;

  name: string | null;
  email: string | null;
  unsubscribed: boolean;
  /** JSON array. */
  deviceTokens: string | null;
  /** Attribute number → value. */
  attributes: Map<number, string>;
  /** IANA name; `null` for UTC. */
  zone: string | null;
  offsetSeconds: number | null;
  /** End of the offset's validity; `null` if unlimited. */
  offsetUntilMs: number | null;
  signUp: SignUp | null;
  /** Notification preferences: one digit per kind, `-` if not set. */
  notifications: string | null;
  /** Who hides the user from leaderboards: a sum of `HIDDEN_BY`, 0 for nobody. */
  hidden: number;

  /** Number of a repeating achievement → completions and latest periods. */
  quests: Map<number, QuestProgress>;
  /** Number of what pays only once for a time (a `time` trigger for a period, a leaderboard for a final run) → the latest time that was paid. */
  paidMs: Map<number, number>;
  /** Points system number → points spent and not refunded, or expired; without open holds. */
  spent: Map<number, number>;
  /** Oldest first. Expired ones stay until the next change of a balance. */
  holds: Hold[];
  /**
   * Points system number → points that reversals could not take, deducted from what later ones give. Negative: points that they
   * could not give, deducted from what later ones take.
   */
  owed: Map<number, number>;
  scoreTimes: ScoreTime[];
  /** In the order in which they began. */
  stays: Stay[];
  /** Those of the oldest events first. */
  metadata: SentMetadata[];
  /** Metric number → sums of its guarded events. */
  guarded: Map<number, GuardSums>;

  /** How often user IDs had been deleted in the tenant when the user was created; `null` for never. */
  generation: number | null;
  corrections: number;
  /** The last recomputation step applied; `null` for none. */
  recomputed: number | null;
  importedBy: string | null;
  importedMs: number | null;
  /** Events wait until then, because the user is being merged. */
  heldUntilMs: number | null;
  /** Fields of a newer version of Laurel, which are kept unchanged. */
  unknown: unknown[];
}

/** A running total. `peak`: whole part of the highest total ever, at least 0; `null` while the total is the highest. */
export interface Total extends Decimal {
  peak: number | null;
}

export interface Streak extends StreakAsLeft {
  /** When the last period was met. */
  extendedMs: number | null;
  /** The period that `sums` belong to. */
  currentPeriod: number | null;
  /** Metric number → sum of the current period's values. */
  sums: Map<number, Decimal>;
}

/** The first and last local day, and 32 hex digits of a UUID. */
export interface Pause {
  from: number;
  to: number;
  id: string;
}

/** Fields that are `null`, and an empty list, follow the tenant's settings. */
export interface OwnStreakRule {
  enabled: boolean | null;
  all: boolean | null;
  metrics: Threshold[];
}

/** The sum that a metric must reach in a period. */
export interface Threshold extends Decimal {
  metric: number;
}

/**
 * A score in a run of a leaderboard. In ascending order it is the negated value: the highest score is always the best.
 * `runDay`: first day of the run. `group`: `''` without a breakdown, and for users who lack a value of it.
 */
export interface Score extends Decimal {
  board: number;
  runDay: number;
  group: string;
}

/**
 * When a score was reached, in microseconds; on leaderboards that need to know. Negative for a sum of events that all had the
 * value 0: it is reached at the first of them, other sums at the last other event.
 */
export interface ScoreTime {
  board: number;
  runDay: number;
  reached: number;
  /** The rank number of the secondary score (0 for none); absent on leaderboards without one. */
  secondary?: number;
}

/** What a user earned in a run of a leaderboard while in a team (`''`: in none), until the next stay of the run begins. */
export interface Stay extends Decimal {
  board: number;
  runDay: number;
  sinceMs: number;
  team: string;
}

/** JSON that an event (32 hex digits) sent, and the runs of leaderboards in which the user's entry shows it: at least one. */
export interface SentMetadata {
  event: string;
  json: string;
  runs: { board: number; runDay: number }[];
}

/** `periods`: newest first, at most `QUEST_PERIODS.most`. */
export interface QuestProgress {
  times: number;
  periods: QuestPeriod[];
}

export interface QuestPeriod extends Decimal {
  period: number;
  done: boolean;
}

/** `id`: 32 hex digits. */
export interface Hold {
  system: number;
  id: string;
  amount: number;
  expiresMs: number;
}

/** Sums of a metric's guarded events in a UTC hour and a local day. `lastMs`: time of the newest event; `null` before the first. */
export interface GuardSums {
  hour: number;
  hourSum: Decimal;
  day: number;
  daySum: Decimal;
  lastMs: number | null;
}

export const noStreak = (): Streak => ({
  length: 0,
  startDay: null,
  lastPeriod: null,
  extendedMs: null,
  currentPeriod: null,
  sums: new Map(),
});

/** A copy that shares nothing with the original. */
export const copyStreak = (streak: Streak): Streak => ({
  ...streak,
  sums: new Map(Array.from(streak.sums, ([no, sum]) => [no, { ...sum }])),
});

/** A user who is seen for the first time. `freezes`: those that a streak begins with. */
/** `heldUntilMs` of a user whose merge across shards has begun: nothing changes the user but the end of the merge. */
export const SEALED_MS = Number.MAX_SAFE_INTEGER;

export const newUser = (
  nowMs: number,
  { freezes, generation }: { freezes: number; generation: number | null },
): User => ({
  createdMs: nowMs,
  updatedMs: nowMs,
  activeDay: null,
  usedKeys: null,
  totals: new Map(),
  counts: new Map(),
  points: new Map(),
  completions: new Map(),
  scores: [],
  streaks: { daily: noStreak(), weekly: noStreak(), monthly: noStreak() },
  freezes,
  earnedDay: null,
  pauses: [],
  streakRule: null,
  daysOff: null,
  settledMs: null,
  begunDay: null,
  name: null,
  email: null,
  unsubscribed: false,
  deviceTokens: null,
  attributes: new Map(),
  zone: null,
  offsetSeconds: null,
  offsetUntilMs: null,
  signUp: null,
  notifications: null,
  hidden: 0,
  quests: new Map(),
  paidMs: new Map(),
  spent: new Map(),
  holds: [],
  owed: new Map(),
  scoreTimes: [],
  stays: [],
  metadata: [],
  guarded: new Map(),
  generation,
  corrections: 0,
  recomputed: null,
  importedBy: null,
  importedMs: null,
  heldUntilMs: null,
  unknown: [],
});

/** The user's local day at a time. */
export const dayOfUser = ({ offsetSeconds }: User, atMs: number): number =>
  Math.floor((atMs + (offsetSeconds ?? 0) * 1000) / 86_400_000);

const DAY_SECONDS = 86_400;

/** The second of the user's local day at a time. */
export function secondOfUser({ offsetSeconds }: User, atMs: number): number {
  const second = (Math.floor(atMs / 1000) + (offsetSeconds ?? 0)) % DAY_SECONDS;
  return second < 0 ? second + DAY_SECONDS : second;
}
