import { Type, type Static } from 'typebox';
import { DEFAULT_EVENT_SETTINGS, type EventSettings } from './event-settings.ts';
import { MetricGuards } from './guards.ts';
import { AttributeValue, LocalDate, Nullable, Uuid } from './schemas.ts';
import { WEBHOOK_EVENTS } from './webhook.ts';

/**
 * The catalog: an administrator's configuration as Postgres stores it. Every resource has an `id` (UUID, used in the API) and
 * a `no` (small integer, used in Redis and the event tables; unique within the tenant and never reused). Resources refer to
 * one another by `id`; the configuration document translates IDs to keys.
 */

export const KEY_PATTERN = '^[a-zA-Z\\d\\-_]+$';
export const TIME_OF_DAY_PATTERN = '^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$';

/** Default and largest `maxParticipants` of a leaderboard. */
export const PARTICIPANTS = { byDefault: 1_000, most: 1_000 };

/** Longest texts of a resource, in characters. Answers to events contain them. */
const TEXT = { name: 200, description: 2_000, url: 2_048 };

export const ResourceName = Type.String({ minLength: 1, maxLength: TEXT.name });
export const Description = Type.String({ maxLength: TEXT.description });
export const Units = Type.String({ maxLength: TEXT.name });
export const ResourceUrl = Type.String({ maxLength: TEXT.url });
export const Badge = Type.Object({ url: ResourceUrl });

/** Which keys may write a value of a user: only admin keys (`server`), or the user's application keys as well. */
export const WritableBy = Type.Enum(['server', 'user']);
export type WritableBy = Static<typeof WritableBy>;

/** A condition on one attribute, by the attribute's ID. The value has the same size limit as users' values. */
export const AttributeCondition = Type.Object({ attributeId: Uuid, attributeValue: AttributeValue });
export type AttributeCondition = Static<typeof AttributeCondition>;

const Stored = {
  id: Uuid,
  no: Type.Integer({ minimum: 1 }),
  created: Type.Number(),
  updated: Type.Number(),
};

export const Attribute = Type.Object({
  ...Stored,
  key: Type.String(),
  name: Type.String(),
  type: Type.Enum(['user', 'event']),
  /** Which keys may write a user's value. `null`: only server keys if a rule refers to the attribute, otherwise users' keys as well. */
  writableBy: Nullable(WritableBy),
});
export type Attribute = Static<typeof Attribute>;

export const Metric = Type.Object({
  ...Stored,
  key: Type.String(),
  name: Type.String(),
  unitType: Type.Enum(['number', 'currency']),
  units: Type.String(),
  guards: Nullable(MetricGuards),
});
export type Metric = Static<typeof Metric>;

export const Achievement = Type.Object({
  ...Stored,
  key: Nullable(Type.String()),
  name: Type.String(),
  description: Nullable(Type.String()),
  badgeUrl: Nullable(Type.String()),
  status: Type.Enum(['inactive', 'active', 'locked']),
  trigger: Type.Enum(['metric', 'streak', 'api', 'achievement', 'anniversary']),
  metricId: Nullable(Uuid),
  metricValue: Nullable(Type.Number()),
  streakLength: Nullable(Type.Integer()),
  /** Trigger `anniversary`: full years since the user's `signUpDate`. */
  anniversaryYears: Nullable(Type.Integer()),
  achievementIds: Type.Array(Uuid),
  userAttributes: Type.Array(AttributeCondition),
  eventAttributes: Type.Array(AttributeCondition),
});
export type Achievement = Static<typeof Achievement>;

export const PointsSystem = Type.Object({
  ...Stored,
  key: Type.String(),
  name: Type.String(),
  description: Nullable(Type.String()),
  badgeUrl: Nullable(Type.String()),
  maxPoints: Nullable(Type.Integer()),
});
export type PointsSystem = Static<typeof PointsSystem>;

export const PointsLevel = Type.Object({
  ...Stored,
  systemId: Uuid,
  key: Type.String(),
  name: Type.String(),
  description: Type.String(),
  badgeUrl: Nullable(Type.String()),
  points: Type.Integer(),
});
export type PointsLevel = Static<typeof PointsLevel>;

export const PointsTrigger = Type.Object({
  ...Stored,
  systemId: Uuid,
  type: Type.Enum(['metric', 'achievement', 'streak', 'time', 'user_creation']),
  points: Type.Integer(),
  status: Type.Enum(['active', 'inactive']),
  /** When the status last became `active` (epoch ms). `time` triggers award nothing for earlier periods. */
  activated: Nullable(Type.Number()),
  metricId: Nullable(Uuid),
  metricThreshold: Nullable(Type.Integer()),
  achievementId: Nullable(Uuid),
  streakLength: Nullable(Type.Integer()),
  timeUnit: Nullable(Type.Enum(['hours', 'days'])),
  timeInterval: Nullable(Type.Integer()),
  blockIfOutOfPoints: Type.Boolean(),
  userAttributes: Type.Array(AttributeCondition),
  eventAttributes: Type.Array(AttributeCondition),
});
export type PointsTrigger = Static<typeof PointsTrigger>;

export const PointsBoost = Type.Object({
  ...Stored,
  systemId: Uuid,
  name: Type.String(),
  /** The only user the boost applies to; `null` for every user who meets `userAttributes`. */
  userId: Nullable(Type.String()),
  start: LocalDate,
  /** Last day, inclusive; `null` for an open end. */
  end: Nullable(LocalDate),
  multiplier: Type.Number(),
  rounding: Type.Enum(['down', 'up', 'nearest']),
  userAttributes: Type.Array(AttributeCondition),
});
export type PointsBoost = Static<typeof PointsBoost>;

export const Leaderboard = Type.Object({
  ...Stored,
  key: Type.String(),
  name: Type.String(),
  description: Nullable(Type.String()),
  status: Type.Enum(['inactive', 'scheduled', 'active', 'finished']),
  rankBy: Type.Enum(['metric', 'streak', 'points']),
  metricId: Nullable(Uuid),
  pointsSystemId: Nullable(Uuid),
  maxParticipants: Nullable(Type.Integer()),
  start: LocalDate,
  end: Nullable(LocalDate),
  startTime: Nullable(Type.String({ pattern: TIME_OF_DAY_PATTERN })),
  endTime: Nullable(Type.String({ pattern: TIME_OF_DAY_PATTERN })),
  /** IDs of the user attributes that divide the leaderboard into groups. */
  breakdownAttributes: Type.Array(Uuid),
  /** `null` for a perpetual leaderboard. */
  runUnit: Nullable(Type.Enum(['day', 'month', 'year'])),
  runInterval: Nullable(Type.Integer()),
  /** When an administrator finished the leaderboard (epoch ms). */
  finished: Type.Optional(Type.Number()),
});
export type Leaderboard = Static<typeof Leaderboard>;

/** Restricts a webhook's notifications to the named resources. A kind that is not set is not restricted. */
export const WebhookFilter = Type.Object({
  metricIds: Type.Optional(Type.Array(Uuid)),
  leaderboardIds: Type.Optional(Type.Array(Uuid)),
  pointsSystemIds: Type.Optional(Type.Array(Uuid)),
});
export type WebhookFilter = Static<typeof WebhookFilter>;

/** The secret is stored separately (`webhook_secrets`), hidden from readers of the catalog. */
export const Webhook = Type.Object({
  ...Stored,
  name: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.Enum([...WEBHOOK_EVENTS])),
  enabled: Type.Boolean(),
  /** Number of secrets so far; the newest one signs. */
  secretNo: Type.Integer({ minimum: 1 }),
  /** Name of the signature header that uses the whole secret; `null` or absent for the default. */
  header: Type.Optional(Nullable(Type.String())),
  /** `null` or absent for all notifications. */
  filter: Type.Optional(Nullable(WebhookFilter)),
});
export type Webhook = Static<typeof Webhook>;

/** Weekdays, 0 = Sunday to 6. At most six, so that a streak can still be lost. */
export const DaysOff = Type.Array(Type.Integer({ minimum: 0, maximum: 6 }), { uniqueItems: true, maxItems: 6 });

export const StreakSettings = Type.Object({
  enabled: Type.Boolean(),
  frequency: Type.Enum(['daily', 'weekly', 'monthly']),
  weekStart: Type.Enum(['sunday', 'monday']),
  evaluationMode: Type.Enum(['OR', 'AND']),
  /** Weekdays without activity that do not end a streak, ascending. Applies to frequency `daily` only. */
  daysOff: DaysOff,
  metrics: Type.Array(Type.Object({ metricId: Uuid, threshold: Type.Number() })),
  freezes: Type.Object({
    enabled: Type.Boolean(),
    initial: Type.Integer({ minimum: 0, maximum: 100 }),
    max: Type.Integer({ minimum: 0, maximum: 100 }),
    /** In days; `null` if users earn no freezes. */
    autoEarnInterval: Nullable(Type.Integer({ minimum: 1 })),
    autoEarnAmount: Nullable(Type.Integer({ minimum: 1 })),
  }),
  personalization: Type.Boolean(),
});
export type StreakSettings = Static<typeof StreakSettings>;

export const DEFAULT_STREAK_SETTINGS: StreakSettings = {
  enabled: true,
  frequency: 'daily',
  weekStart: 'sunday',
  evaluationMode: 'OR',
  daysOff: [],
  metrics: [],
  freezes: { enabled: false, initial: 0, max: 0, autoEarnInterval: null, autoEarnAmount: null },
  personalization: false,
};

/** The streak settings, with the time that earning depends on. */
export interface StreaksInForce {
  streaks: StreakSettings;
  /** Since when the earning settings are in force (epoch ms). Earning counts no earlier time. */
  earnSince?: number;
}

/** Replaced streak settings. They apply to every midnight up to `untilMs` (epoch ms, inclusive), no matter when it is settled. */
export interface EarlierStreaks extends StreaksInForce {
  untilMs: number;
}

/** Limit per tenant: Laurel checks each notification against all of them. */
export const MOST_WEBHOOKS = 100;

/** Limit per catalog, all kinds together. */
export const MOST_RESOURCES = 10_000;

/** One version of a tenant's configuration. Every list is sorted by age, oldest first. */
export interface Catalog extends StreaksInForce {
  tenantNo: number;
  version: number;
  attributes: Attribute[];
  metrics: Metric[];
  achievements: Achievement[];
  pointsSystems: PointsSystem[];
  levels: PointsLevel[];
  triggers: PointsTrigger[];
  boosts: PointsBoost[];
  leaderboards: Leaderboard[];
  webhooks: Webhook[];
  events: EventSettings;
  /** Previous settings that may apply to unsettled midnights of some users, oldest first. */
  streaksBefore?: readonly EarlierStreaks[];
}

/** A catalog without resources and with the default streak settings. */
export const emptyCatalog = (tenantNo: number, version = 0): Catalog => ({
  tenantNo,
  version,
  attributes: [],
  metrics: [],
  achievements: [],
  pointsSystems: [],
  levels: [],
  triggers: [],
  boosts: [],
  leaderboards: [],
  webhooks: [],
  events: DEFAULT_EVENT_SETTINGS,
  streaks: DEFAULT_STREAK_SETTINGS,
});
