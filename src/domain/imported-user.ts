import { MOST_TIERS } from './leagues.ts';
import { TRIGGER_TYPES } from './rule-kinds.ts';
import { FREQUENCIES } from './periods.ts';
import { Type, type Static } from 'typebox';
import { AttributeValue, byKey, KEY_PATTERN, LocalDate } from './schemas.ts';
import { UpdateUserPreferencesRequest } from './notifications/preferences.ts';
import { UpsertedUser } from './user.ts';

/*
 * A user whose history comes from another system: one line of JSON Lines, one item of an import. Resources are named by their
 * keys, or by their names in the Application API's answers. Omitted fields get the values of a user without that activity.
 */

/** Limit for one user's days, awards, completions and periods together; they share one outbox entry. */
export const MOST_IMPORTED_ROWS = 40_000;

const DateTime = Type.String({ format: 'date-time' });
const Name = Type.String({ maxLength: 1_024 });

/** The limit for fields of any object in a request body; enough for 27 years. */
const MOST_DAYS = 10_000;

export const ChangesByDay = Type.Unsafe<Record<string, number>>({
  type: 'object',
  maxProperties: MOST_DAYS,
  additionalProperties: { type: 'number' },
});

/** `total` is authoritative. The part that `days` does not explain happened before the first of them. */
const ImportedMetric = Type.Object({ total: Type.Number(), days: Type.Optional(ChangesByDay) });

const ImportedCompletion = Type.Object({
  id: Type.Optional(Name),
  key: Type.Optional(Name),
  name: Type.Optional(Name),
  achievedAt: DateTime,
});
export type ImportedCompletion = Static<typeof ImportedCompletion>;

const ImportedPeriod = Type.Object({
  periodStart: LocalDate,
  periodEnd: LocalDate,
  length: Type.Integer({ minimum: 0 }),
  usedFreeze: Type.Optional(Type.Boolean()),
  usedPause: Type.Optional(Type.Boolean()),
  resetAt: Type.Optional(DateTime),
});
export type ImportedPeriod = Static<typeof ImportedPeriod>;

const ImportedStreak = Type.Object({
  frequency: Type.Enum([...FREQUENCIES]),
  length: Type.Integer({ minimum: 0, maximum: 100_000 }),
  started: Type.Optional(LocalDate),
  expires: Type.Optional(LocalDate),
  extended: Type.Optional(DateTime),
  freezes: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  /** Oldest first, without a gap, up to the current period. */
  history: Type.Optional(Type.Array(ImportedPeriod, { maxItems: 10_000 })),
  pauses: Type.Optional(Type.Array(Type.Object({ start: LocalDate, end: LocalDate }), { maxItems: 100 })),
});
export type ImportedStreak = Static<typeof ImportedStreak>;

/** What awarded points, in the shape of `GET /users/{id}/points/{key}`. */
const ImportedTrigger = Type.Object({
  id: Type.Optional(Name),
  type: Type.Enum([...TRIGGER_TYPES]),
  points: Type.Optional(Type.Integer()),
  metricName: Type.Optional(Name),
  metricThreshold: Type.Optional(Type.Integer()),
  streakLengthThreshold: Type.Optional(Type.Integer()),
  achievementName: Type.Optional(Name),
  timeUnit: Type.Optional(Type.Enum(['hour', 'day'])),
  timeInterval: Type.Optional(Type.Integer()),
  rankFrom: Type.Optional(Type.Integer()),
  rankTo: Type.Optional(Type.Integer()),
  rankPercent: Type.Optional(Type.Number()),
});
export type ImportedTrigger = Static<typeof ImportedTrigger>;
/** The fields by which a trigger is found that has another ID here. */
export const DESCRIBING_TRIGGER = Object.keys(ImportedTrigger.properties).filter(
  (field) => field !== 'id',
) as (keyof ImportedTrigger)[];

const ImportedAward = Type.Object({
  awarded: Type.Integer({ minimum: -1e12, maximum: 1e12 }),
  date: DateTime,
  /** The total of the points system after this award. */
  total: Type.Optional(Type.Integer({ minimum: 0, maximum: 1e12 })),
  trigger: Type.Optional(ImportedTrigger),
  boosts: Type.Optional(
    Type.Array(Type.Object({ id: Type.Optional(Name), name: Type.Optional(Name) }), { maxItems: 50 }),
  ),
});
export type ImportedAward = Static<typeof ImportedAward>;

/** `awards` come in any order and must include the newest; `days` hold the sums of older awards. */
const ImportedPoints = Type.Object({
  total: Type.Integer({ minimum: 0, maximum: 1e12 }),
  days: Type.Optional(ChangesByDay),
  awards: Type.Optional(Type.Array(ImportedAward, { maxItems: MOST_IMPORTED_ROWS })),
});
export type ImportedPoints = Static<typeof ImportedPoints>;

const ImportedPlace = Type.Object({
  /** The group that shows the user's score, by breakdown attribute. Only if it differs from the user's attributes: they changed after the
   * last event that moved the score. */
  group: Type.Optional(byKey(AttributeValue)),
  tier: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MOST_TIERS,
      description: "The user's tier on a leaderboard with leagues; 1 is the lowest.",
      examples: [2],
    }),
  ),
});

export const ImportedUser = Type.Object({
  ...UpsertedUser.properties,
  created: Type.Optional(DateTime),
  updated: Type.Optional(DateTime),
  metrics: Type.Optional(byKey(ImportedMetric)),
  achievements: Type.Optional(Type.Array(ImportedCompletion, { maxItems: 10_000 })),
  streak: Type.Optional(ImportedStreak),
  points: Type.Optional(byKey(ImportedPoints)),
  leaderboards: Type.Optional(byKey(ImportedPlace)),
  preferences: Type.Optional(UpdateUserPreferencesRequest),
});
export type ImportedUser = Static<typeof ImportedUser>;

export const ImportQuery = Type.Object({
  /** Name of the import. An import brings each user once. */
  import: Type.String({ minLength: 1, maxLength: 64, pattern: KEY_PATTERN }),
  dryRun: Type.Boolean({ default: false }),
});

/** Part of a user that is not imported: its field, and why. `days`: how many days of events or points it has. */
const SkippedPart = Type.Object({ field: Type.String(), reason: Type.String(), days: Type.Integer() });
export type SkippedPart = Static<typeof SkippedPart>;

/**
 * Result for one user. `already`: this import brought the user before, nothing changed. `ready`: outcome of a dry run.
 * `skipped`: nothing of the user is imported, because of the field in `skipped`.
 */
export const ImportedOutcome = Type.Object({
  id: Type.String(),
  status: Type.Enum(['imported', 'already', 'ready', 'skipped']),
  skipped: Type.Array(SkippedPart),
});
export type ImportedOutcome = Static<typeof ImportedOutcome>;
