import { Type, type Static } from 'typebox';
import { QuarantinedEvent } from './quarantine.ts';
import { LocalDate, Nullable, Uuid } from './schemas.ts';
import { TIMELINE_KINDS } from './timeline-kinds.ts';

/** A user's timeline: what happened, with its causes, as the Admin API requests and returns it. */

const DateTime = Type.String({ format: 'date-time' });

/** A catalog resource with its current names, or its last ones if it was deleted. */
const Named = Type.Object({ id: Nullable(Uuid), key: Nullable(Type.String()), name: Type.String() });
export type Named = Static<typeof Named>;

const Condition = Type.Object({ key: Type.String(), value: Type.String() });

/** The rule of a trigger or achievement at that time. Only the fields of its type are set. */
export const TimelineRule = Type.Object({
  type: Type.Enum(['metric', 'achievement', 'streak', 'time', 'user_creation', 'api', 'anniversary']),
  points: Type.Optional(Type.Integer()),
  metric: Type.Optional(Named),
  threshold: Type.Optional(Type.Number()),
  streakLength: Type.Optional(Type.Integer()),
  achievements: Type.Optional(Type.Array(Named)),
  timeUnit: Type.Optional(Type.Enum(['hours', 'days'])),
  timeInterval: Type.Optional(Type.Integer()),
  anniversaryYears: Type.Optional(Type.Integer()),
  userAttributes: Type.Array(Condition),
  eventAttributes: Type.Array(Condition),
});
export type TimelineRule = Static<typeof TimelineRule>;

/** The streak grew. */
const CausedStreak = Type.Object({
  kind: Type.Literal('streak'),
  length: Type.Integer(),
  frequency: Type.Enum(['daily', 'weekly', 'monthly']),
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
  /** Whether the event arrived on a later local day of the user. */
  late: Type.Boolean(),
  attributes: Type.Record(Type.String(), Type.String()),
  idempotencyKey: Nullable(Type.String()),
  /** ID of the reversal that undid the event; `null` if it was not reversed. */
  reversedBy: Nullable(Uuid),
  caused: Type.Array(Caused),
});
export type EventEntry = Static<typeof EventEntry>;

/** Undoes an event or another reversal. */
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
  /** Readable part of the administrator's key. */
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
  frequency: Type.Enum(['daily', 'weekly', 'monthly']),
  start: LocalDate,
  end: LocalDate,
  length: Nullable(Type.Integer()),
  /** Readable part of the administrator's key; `null` if the clock changed the streak. */
  who: Nullable(Type.String()),
  /**
   * `correction`: ID of the late event or reversal that caused this entry. `supersededBy`: ID of the one that replaced it. Both
   * are `null` if there is none.
   */
  correction: Nullable(Uuid),
  supersededBy: Nullable(Uuid),
});
export type StreakEntry = Static<typeof StreakEntry>;

/** The user's final rank and score in a leaderboard run. */
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

/** An administrator's action on the user, from the audit log. */
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
  AchievementEntry,
  RecomputationEntry,
  ClockEntry,
  StreakEntry,
  LeaderboardEntry,
  AdministrationEntry,
]);
export type TimelineEntry = Static<typeof TimelineEntry>;

/**
 * A page of the timeline. `nextCursor` is `null` on the last page. `detailsFrom`: events and awards before this UTC date are
 * deleted.
 */
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
