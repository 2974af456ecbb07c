import { ACHIEVEMENT_TRIGGERS, FOLDS, TRIGGER_TYPES } from '../rule-kinds.ts';
import { FREQUENCIES } from '../periods.ts';
import { type Static, type TSchema, Type } from 'typebox';
import { POINTS_TRIGGER } from '../fields/points.ts';
import { additionSchemas } from '../fields/wire.ts';
import { BalanceChange } from '../points.ts';
import { TIMELINE_KINDS } from '../kinds.ts';
import { Repeat } from '../repeat.ts';
import { LocalDate, Nullable, Uuid, uuidText } from '../schemas.ts';
import { QuarantinedEvent } from './quarantine.ts';

const DateTime = Type.String({ format: 'date-time' });

/** A catalog resource with its current names, or its last ones if it was deleted. */
const Named = Type.Object({
  id: Nullable(Uuid, { description: 'ID of the resource.' }),
  key: Nullable(Type.String(), { description: 'Key of the resource; null: it has none.' }),
  name: Type.String({ description: 'Name of the resource.' }),
});
export type Named = Static<typeof Named>;

const Condition = Type.Object({ key: Type.String(), value: Type.String() });

/** Name of a field of a rule: a resource by its name has no `Id`. */
export const ruleField = (name: string): string => name.replace(/Id$/, '');

/** Laurel's additions to triggers, with resources by their names. */
const triggerAdditions = Object.fromEntries(
  Object.entries<TSchema>(additionSchemas(POINTS_TRIGGER)).map(([name, schema]) => [
    ruleField(name),
    ruleField(name) === name ? schema : Type.Optional(Named),
  ]),
);

/** The rule of a trigger or achievement at that time. Only the fields of its type are set. */
export const TimelineRule = Type.Object({
  type: Type.Enum([...new Set([...TRIGGER_TYPES, ...ACHIEVEMENT_TRIGGERS])]),
  points: Type.Optional(Type.Integer()),
  metric: Type.Optional(Named),
  threshold: Type.Optional(Type.Number()),
  repeat: Type.Optional(Repeat),
  startDate: Type.Optional(LocalDate),
  endDate: Type.Optional(LocalDate),
  requires: Type.Optional(Type.Array(Named)),
  streakLength: Type.Optional(Type.Integer()),
  achievements: Type.Optional(Type.Array(Named)),
  timeUnit: Type.Optional(Type.Enum(['hours', 'days'])),
  timeInterval: Type.Optional(Type.Integer()),
  anniversaryYears: Type.Optional(Type.Integer()),
  ...(triggerAdditions as object),
  userAttributes: Type.Array(Condition),
  eventAttributes: Type.Array(Condition),
});
export type TimelineRule = Static<typeof TimelineRule>;

const CausedStreak = Type.Object({
  kind: Type.Literal('streak'),
  length: Type.Integer(),
  frequency: Type.Enum([...FREQUENCIES]),
});

const Completed = {
  achievement: Named,
  /** `null` if the rule is unknown: it changed before Laurel recorded such changes. */
  rule: Nullable(TimelineRule),
};

const CausedAchievement = Type.Object({ kind: Type.Literal('achievement'), ...Completed });

const CausedAward = Type.Object({
  kind: Type.Literal('award'),
  id: Uuid,
  pointsSystem: Named,
  awarded: Type.Integer(),
  total: Type.Integer(),
  triggerId: Nullable(Uuid),
  rule: Nullable(TimelineRule),
  boosts: Type.Array(Type.Object({ id: Nullable(Uuid), name: Type.String(), multiplier: Nullable(Type.Number()) })),
});

const CausedLevel = Type.Object({
  kind: Type.Literal('level'),
  pointsSystem: Named,
  level: Nullable(Named),
  previousLevel: Nullable(Named),
});

const CausedScore = Type.Object({
  kind: Type.Literal('leaderboard'),
  leaderboard: Named,
  /** First day of the run. */
  run: LocalDate,
  change: Type.Number(),
  aggregate: Type.Optional(Type.Enum([...FOLDS])),
});

const Caused = Type.Union([CausedStreak, CausedAchievement, CausedAward, CausedLevel, CausedScore]);
export type Caused = Static<typeof Caused>;

const Entry = { position: Type.String(), at: DateTime };

const EventEntry = Type.Object({
  kind: Type.Literal('event'),
  ...Entry,
  id: Uuid,
  metric: Named,
  value: Type.Number(),
  total: Type.Number(),
  localDate: LocalDate,
  /** When a late event happened; `null` if it happened at `at`. */
  occurredAt: Nullable(DateTime),
  late: Type.Boolean(),
  attributes: Type.Record(Type.String(), Type.String()),
  idempotencyKey: Nullable(Type.String()),
  /** ID of the reversal that undid the event; `null` if it was not reversed. */
  reversedBy: Nullable(Uuid),
  caused: Type.Array(Caused),
});
export type EventEntry = Static<typeof EventEntry>;

const ReversalEntry = Type.Object({
  kind: Type.Literal('reversal'),
  ...Entry,
  id: Uuid,
  /** ID of the event or reversal that this one undoes. */
  reverses: Uuid,
  metric: Named,
  value: Type.Number(),
  total: Type.Number(),
  localDate: LocalDate,
  /** Readable part of the administrator's key; `null` if no longer known. */
  who: Nullable(Type.String()),
  /** Achievements taken away; for the reversal of a reversal, those given back. */
  achievements: Type.Array(Named),
  reversedBy: Nullable(Uuid),
  caused: Type.Array(Caused),
});
export type ReversalEntry = Static<typeof ReversalEntry>;

const kept = QuarantinedEvent.properties;

/** An event that a guard holds back or that was dropped. A released event appears as an event. */
const QuarantineEntry = Type.Object({
  kind: Type.Literal('quarantine'),
  ...Entry,
  id: kept.id,
  metric: Named,
  guard: kept.guard,
  value: kept.value,
  attributes: kept.attributes,
  idempotencyKey: kept.idempotencyKey,
  status: kept.status,
  settled: kept.settled,
});
export type QuarantineEntry = Static<typeof QuarantineEntry>;

/** Points were spent, held, captured, released or refunded. */
const SpendingEntry = Type.Object({
  kind: Type.Literal('spending'),
  ...Entry,
  ...BalanceChange.properties,
  pointsSystem: Named,
});
export type SpendingEntry = Static<typeof SpendingEntry>;

/** A completion without an event: by an API call, by the clock (anniversaries) or after a catalog edit. */
const AchievementEntry = Type.Object({
  kind: Type.Literal('achievement'),
  ...Entry,
  ...Completed,
  /** `null` if not recorded. */
  by: Nullable(Type.Enum(['call', 'clock', 'backdating'])),
  caused: Type.Array(Caused),
});
export type AchievementEntry = Static<typeof AchievementEntry>;

/** A recomputation was applied or reverted. */
const RecomputationEntry = Type.Object({
  kind: Type.Literal('recomputation'),
  ...Entry,
  recomputationId: Uuid,
  action: Type.Enum(['applied', 'reverted']),
  who: Type.String(),
  gained: Type.Array(Named),
  lost: Type.Array(Named),
  caused: Type.Array(Caused),
});
export type RecomputationEntry = Static<typeof RecomputationEntry>;

/** The user was first seen, or (`time`) a period of `time` triggers ended. */
const ClockEntry = Type.Object({
  kind: Type.Enum(['user_creation', 'time']),
  ...Entry,
  caused: Type.Array(Caused),
});
export type ClockEntry = Static<typeof ClockEntry>;

/** The clock or an administrator changed a streak. */
const StreakEntry = Type.Object({
  kind: Type.Literal('streak'),
  ...Entry,
  change: Type.Enum(['freeze', 'pause', 'lost', 'restored', 'replaced', 'dayOff', 'reset']),
  frequency: Type.Enum([...FREQUENCIES]),
  start: LocalDate,
  end: LocalDate,
  length: Nullable(Type.Integer()),
  /** Readable part of the administrator's key; `null` if the clock changed the streak. */
  who: Nullable(Type.String()),
  /** ID of the late event or reversal that caused this entry, and of the one that replaced it; `null`: none. */
  correction: Nullable(Uuid),
  supersededBy: Nullable(Uuid),
});
export type StreakEntry = Static<typeof StreakEntry>;

const LeaderboardEntry = Type.Object({
  kind: Type.Literal('leaderboard'),
  ...Entry,
  leaderboard: Named,
  start: LocalDate,
  end: LocalDate,
  rank: Nullable(Type.Integer()),
  value: Type.Number(),
});
export type LeaderboardEntry = Static<typeof LeaderboardEntry>;

const Tier = Type.Object({
  number: Type.Integer({ description: 'Number of the tier; 1 is the lowest.' }),
  name: Nullable(Type.String()),
});

/** The user moved to another tier of a leaderboard’s leagues. */
const LeagueEntry = Type.Object({
  kind: Type.Literal('league'),
  ...Entry,
  leaderboard: Named,
  start: LocalDate,
  tier: Tier,
  previousTier: Tier,
  rank: Nullable(Type.Integer()),
});
export type LeagueEntry = Static<typeof LeagueEntry>;

/** `from` was merged into `into`: the user, or one who was merged into the user later. */
const MergeEntry = Type.Object({
  kind: Type.Literal('merge'),
  ...Entry,
  from: Type.String(),
  into: Type.String(),
  /** Readable part of the administrator's key; `null` if no longer known. */
  who: Nullable(Type.String()),
});
export type MergeEntry = Static<typeof MergeEntry>;

const AdministrationEntry = Type.Object({
  kind: Type.Literal('administration'),
  ...Entry,
  who: Type.String(),
  action: Type.String(),
  subject: Type.String(),
  resourceId: Nullable(Uuid),
  before: Nullable(Type.Record(Type.String(), Type.Unknown())),
  after: Nullable(Type.Record(Type.String(), Type.Unknown())),
});
export type AdministrationEntry = Static<typeof AdministrationEntry>;

export const TimelineEntry = Type.Union([
  EventEntry,
  ReversalEntry,
  QuarantineEntry,
  SpendingEntry,
  AchievementEntry,
  RecomputationEntry,
  ClockEntry,
  StreakEntry,
  LeaderboardEntry,
  LeagueEntry,
  MergeEntry,
  AdministrationEntry,
]);
export type TimelineEntry = Static<typeof TimelineEntry>;

/** A page of the timeline. `detailsFrom`: events and awards before this UTC date are deleted. */
export const TimelinePage = Type.Object({
  entries: Type.Array(TimelineEntry),
  detailsFrom: Nullable(Type.String({ format: 'date' })),
  nextCursor: Nullable(Type.String()),
});
export type TimelinePage = Static<typeof TimelinePage>;

export const TimelineQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  cursor: Type.Optional(Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })),
  order: Type.Enum(['desc', 'asc'], { default: 'desc' }),
  kind: Type.Optional(Type.Enum([...TIMELINE_KINDS])),
  from: Type.Optional(DateTime),
  to: Type.Optional(DateTime),
});
export type TimelineQuery = Static<typeof TimelineQuery>;

/**
 * Positions in a user's timeline. A position is UUID text that begins with the time (ms), so positions sort the same as
 * text and in Postgres. An event or call uses the ID that its awards begin with (UUIDv7, where a 7 follows the time). Other
 * entries have the digit of their kind there, then a number that distinguishes entries of the same kind and time.
 */

/** The digit after the time. Digits below 7 sort before the events of that millisecond, digits above after them. */
export const POSITION_KIND = {
  userCreation: 0,
  streak: 1,
  leaderboard: 2,
  league: 3,
  completion: 8,
  administration: 9,
} as const;

const TIME_DIGITS = 12;
const NUMBER_DIGITS = 19;

const timeHex = (ms: number): string => Math.max(0, Math.floor(ms)).toString(16).padStart(TIME_DIGITS, '0');

/** Position of an entry that is not an event. `number` orders the entries of the same time and kind. */
export const positionOf = ({ atMs, kind, number }: { atMs: number; kind: number; number: number }): string =>
  uuidText(timeHex(atMs) + kind.toString(16) + number.toString(16).padStart(NUMBER_DIGITS, '0'));

/** A position before all entries of a time (epoch ms); no entry has it. */
export const firstIdAt = (ms: number): string => uuidText(timeHex(ms).padEnd(32, '0'));

export const msOf = (position: string): number => parseInt(position.slice(0, 8) + position.slice(9, 13), 16);

/** The last ID that an award of this event may have. */
export const lastAwardOf = (position: string): string => `${position.slice(0, -4)}ffff`;

/** Before and after every entry. */
export const FIRST_POSITION = firstIdAt(0);
export const LAST_POSITION = uuidText('f'.repeat(32));

/** Bounds (both exclusive) of the times and numbers of one kind's entries between two positions. */
export const boundsOf = (kind: number, above: string, below: string): TimelineBounds => ({
  above: boundOf(kind, above),
  below: boundOf(kind, below),
});

export interface TimelineBounds {
  above: readonly [number, number];
  below: readonly [number, number];
}

function boundOf(kind: number, position: string): [number, number] {
  const hex = position.replaceAll('-', '');
  const digit = parseInt(hex[TIME_DIGITS]!, 16);
  const ms = msOf(position);
  if (digit !== kind) return [ms, kind < digit ? Number.MAX_SAFE_INTEGER : -1];
  return [ms, Math.min(parseInt(hex.slice(TIME_DIGITS + 1), 16), Number.MAX_SAFE_INTEGER)];
}

/** How long before its application an event of a batch may have received its ID; ms. */
export const QUEUED_BEFORE_MS = 86_400_000;

/** An event's ID carries the time of its first check, less than this before the event was applied. */
export const BEFORE_APPLIED_MS = 60_000;

/** Position of the user's creation: before the event that created the user. */
export const creationPosition = (createdMs: number): string =>
  positionOf({ atMs: createdMs - BEFORE_APPLIED_MS, kind: POSITION_KIND.userCreation, number: 1 });
