import { Type, type Static } from 'typebox';
import { DEFAULT_EVENT_SETTINGS, type EventSettings } from './event-settings.ts';
import { MetricGuards } from './guards.ts';
import { AttributeValue, LocalDate, Nullable, Uuid } from './schemas.ts';
import { WEBHOOK_EVENTS } from './webhook.ts';

/**
 * The catalog: what an admin configures, as it is stored. Every resource has an `id` (UUID, what the wire
 * shows) and a `no` (small integer, unique within the tenant and never used again, what Redis and the event
 * tables hold). References between resources are by `id`; the configuration document translates them to keys.
 */

export const KEY_PATTERN = '^[a-zA-Z\\d\\-_]+$';
export const TIME_OF_DAY_PATTERN = '^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$';

/** What a leaderboard's maximum of participants is unless it is set, and at most. */
export const PARTICIPANTS = { byDefault: 1_000, most: 1_000 };

/** The most characters that a resource's texts have: every event that names the resource answers with them. */
const TEXT = { name: 200, description: 2_000, url: 2_048 };

export const ResourceName = Type.String({ minLength: 1, maxLength: TEXT.name });
export const Description = Type.String({ maxLength: TEXT.description });
export const Units = Type.String({ maxLength: TEXT.name });
export const ResourceUrl = Type.String({ maxLength: TEXT.url });
export const Badge = Type.Object({ url: ResourceUrl });

/** Whose keys may write something of a user: only admin keys (`server`), or the user's application keys too. */
export const WritableBy = Type.Enum(['server', 'user']);
export type WritableBy = Static<typeof WritableBy>;

/** A condition on one attribute, by the attribute's ID. Its value has no more bytes than one that a user can have. */
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
  /** Whose keys may write a user's value; null: servers' only where a rule refers to the attribute, else users' as well. */
  writableBy: Nullable(WritableBy),
});
export type Attribute = Static<typeof Attribute>;

export const Metric = Type.Object({
  ...Stored,
  key: Type.String(),
  name: Type.String(),
  unitType: Type.Enum(['number', 'currency']),
  units: Type.String(),
  /** Null: none. */
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
  /** Full years since the user's `signUpDate`, of trigger `anniversary`. */
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
  /** Epoch ms of the last change to `active`: `time` triggers pay no period from before it. */
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
  /** The one user it is for; null for everyone who meets `userAttributes`. */
  userId: Nullable(Type.String()),
  start: LocalDate,
  /** Last day, inside the window; null: open-ended. */
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
  /** Attribute IDs of the users' attributes that split the board in groups. */
  breakdownAttributes: Type.Array(Uuid),
  /** Null: perpetual. */
  runUnit: Nullable(Type.Enum(['day', 'month', 'year'])),
  runInterval: Nullable(Type.Integer()),
  /** Epoch ms at which an admin finished it. */
  finished: Type.Optional(Type.Number()),
});
export type Leaderboard = Static<typeof Leaderboard>;

/** Which notifications a webhook gets, by IDs of resources: of a kind named here only these, of other kinds everything. */
export const WebhookFilter = Type.Object({
  metricIds: Type.Optional(Type.Array(Uuid)),
  leaderboardIds: Type.Optional(Type.Array(Uuid)),
  pointsSystemIds: Type.Optional(Type.Array(Uuid)),
});
export type WebhookFilter = Static<typeof WebhookFilter>;

/** Its secret is kept apart (`webhook_secrets`): readers of a catalog do not see it. */
export const Webhook = Type.Object({
  ...Stored,
  name: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.Enum([...WEBHOOK_EVENTS])),
  enabled: Type.Boolean(),
  /** How many secrets it has had: the last of them signs. */
  secretNo: Type.Integer({ minimum: 1 }),
  /** Name of the header with the signature of the whole secret; null, or absent: the usual one. */
  header: Type.Optional(Nullable(Type.String())),
  /** Null, or absent: none. */
  filter: Type.Optional(Nullable(WebhookFilter)),
});
export type Webhook = Static<typeof Webhook>;

/** Weekdays, 0 = Sunday to 6: at most six, so that a day is left on which a streak can be lost. */
export const DaysOff = Type.Array(Type.Integer({ minimum: 0, maximum: 6 }), { uniqueItems: true, maxItems: 6 });

export const StreakSettings = Type.Object({
  enabled: Type.Boolean(),
  frequency: Type.Enum(['daily', 'weekly', 'monthly']),
  weekStart: Type.Enum(['sunday', 'monday']),
  evaluationMode: Type.Enum(['OR', 'AND']),
  /** Days that need nothing and end nothing, in ascending order; of frequency `daily` only. */
  daysOff: DaysOff,
  metrics: Type.Array(Type.Object({ metricId: Uuid, threshold: Type.Number() })),
  freezes: Type.Object({
    enabled: Type.Boolean(),
    initial: Type.Integer({ minimum: 0, maximum: 100 }),
    max: Type.Integer({ minimum: 0, maximum: 100 }),
    /** Days; null when nothing is earned. */
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

/** The streak settings with what time made of them: what falls due in streaks uses these. */
export interface StreaksInForce {
  streaks: StreakSettings;
  /** Since when freezes are earned as the settings say, epoch ms: what is earned is not counted from before. */
  earnSince?: number;
}

/** Streak settings that were replaced: the midnights up to then (epoch ms, included) go by them, whenever settled. */
export interface EarlierStreaks extends StreaksInForce {
  untilMs: number;
}

/** Most webhooks of a tenant: each notification is checked against all of them. */
export const MOST_WEBHOOKS = 100;

/** Most resources of a catalog, of all kinds together. */
export const MOST_RESOURCES = 10_000;

/** One tenant's whole configuration at one version, oldest resource first in every list. */
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
  /** The previous ones under which users may have unsettled midnights, oldest first. */
  streaksBefore?: readonly EarlierStreaks[];
}

/** A catalog without anything in it: streaks as they are at first. */
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
