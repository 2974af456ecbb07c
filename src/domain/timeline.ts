import { Type, type Static } from 'typebox';
import { QuarantinedEvent } from './quarantine.ts';
import { LocalDate, Nullable, Uuid } from './schemas.ts';
import { TIMELINE_KINDS } from './timeline-kinds.ts';

/** What happened to a user, with its causes, as it is asked for and answered. */

const DateTime = Type.String({ format: 'date-time' });

/** A resource of the catalog by its present names, or its last ones. */
const Named = Type.Object({ id: Nullable(Uuid), key: Nullable(Type.String()), name: Type.String() });
export type Named = Static<typeof Named>;

const Condition = Type.Object({ key: Type.String(), value: Type.String() });

/** The rule of a trigger or an achievement as it was then: the fields of its type only. */
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

/** The streak got longer. */
const CausedStreak = Type.Object({
  kind: Type.Literal('streak'),
  length: Type.Integer(),
  frequency: Type.Enum(['daily', 'weekly', 'monthly']),
});

const Completed = {
  achievement: Named,
  /** Null: the rule of then is not known, since it was changed before such changes were kept. */
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
  /** When it happened, of an event that came later; null: at `at`. */
  occurredAt: Nullable(DateTime),
  /** It came on a later day of the user. */
  late: Type.Boolean(),
  attributes: Type.Record(Type.String(), Type.String()),
  idempotencyKey: Nullable(Type.String()),
  /** The ID of the reversal since which it is as if it had never been; null: none. */
  reversedBy: Nullable(Uuid),
  caused: Type.Array(Caused),
});
export type EventEntry = Static<typeof EventEntry>;

/** The opposite of an event, or of a reversal. */
const ReversalEntry = Type.Object({
  kind: Type.Literal('reversal'),
  ...Entry,
  id: Uuid,
  /** The event or reversal that it is the opposite of. */
  reverses: Uuid,
  metric: Named,
  value: Type.Number(),
  total: Type.Number(),
  localDate: LocalDate,
  /** The readable part of the administrator's key; null: not known any more. */
  who: Nullable(Type.String()),
  /** Achievements that were taken; of the reversal of a reversal those that were given back. */
  achievements: Type.Array(Named),
  reversedBy: Nullable(Uuid),
  caused: Type.Array(Caused),
});
export type ReversalEntry = Static<typeof ReversalEntry>;

const kept = QuarantinedEvent.properties;

/** An event that a guard keeps from being applied, or that was dropped; one that was released is an event. */
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

/** Completed by no event: by a call, by the clock (anniversaries), or because of an edit of the catalog. */
const AchievementEntry = Type.Object({
  kind: Type.Literal('achievement'),
  ...Entry,
  ...Completed,
  /** Null: not recorded. */
  by: Nullable(Type.Enum(['call', 'clock', 'backdating'])),
  caused: Type.Array(Caused),
});
export type AchievementEntry = Static<typeof AchievementEntry>;

/** A recomputation gave and took, or what it had done was taken back. */
const RecomputationEntry = Type.Object({
  kind: Type.Literal('recomputation'),
  ...Entry,
  recomputationId: Uuid,
  action: Type.Enum(['applied', 'reverted']),
  /** The readable part of the administrator's key. */
  who: Type.String(),
  gained: Type.Array(Named),
  lost: Type.Array(Named),
  caused: Type.Array(Caused),
});
export type RecomputationEntry = Static<typeof RecomputationEntry>;

/** The first sight of the user; or, of `time`, a period of `time` triggers that ended. */
const ClockEntry = Type.Object({
  kind: Type.Enum(['user_creation', 'time']),
  ...Entry,
  caused: Type.Array(Caused),
});
export type ClockEntry = Static<typeof ClockEntry>;

/** What the clock or an administrator made of a streak. */
const StreakEntry = Type.Object({
  kind: Type.Literal('streak'),
  ...Entry,
  change: Type.Enum(['freeze', 'pause', 'lost', 'restored', 'replaced', 'dayOff', 'reset']),
  frequency: Type.Enum(['daily', 'weekly', 'monthly']),
  start: LocalDate,
  end: LocalDate,
  length: Nullable(Type.Integer()),
  /** The readable part of the administrator's key; null: the clock did it. */
  who: Nullable(Type.String()),
  /** The ID of the late event or reversal that it comes from, and of the one since which another holds; null: none. */
  correction: Nullable(Uuid),
  supersededBy: Nullable(Uuid),
});
export type StreakEntry = Static<typeof StreakEntry>;

/** How the user ended a run of a leaderboard. */
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

/** What an administrator did about the user, as the audit log has it. */
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

/** A page; `nextCursor` leads to the next, null: this is the last. `detailsFrom`: events and awards before this UTC date were dropped. */
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
