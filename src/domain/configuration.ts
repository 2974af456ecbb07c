import { Type, type Static, type TSchema } from 'typebox';
import {
  Badge,
  DaysOff,
  Description,
  KEY_PATTERN,
  MOST_RESOURCES,
  PARTICIPANTS,
  ResourceName,
  TIME_OF_DAY_PATTERN,
  Units,
  WritableBy,
} from './catalog.ts';
import { EventSettings } from './event-settings.ts';
import { MetricGuards } from './guards.ts';
import { AttributeValue, LocalDate, Nullable, Uuid } from './schemas.ts';
import { UserId } from './user.ts';

/**
 * The whole configuration of a tenant as one document. Resources refer to one another by key, never by ID. A list is
 * complete: applying the document deletes resources that the list omits. A list or streak setting that the document does
 * not contain stays unchanged. A field that a resource omits takes its default.
 */

/** One list may hold as many resources as a tenant may have in total. */
const list = <T extends TSchema>(item: T) => Type.Array(item, { maxItems: MOST_RESOURCES });

const Key = Type.String({ pattern: KEY_PATTERN, maxLength: 255 });
const OptionalDescription = Type.Optional(Nullable(Description));
const OptionalBadge = Type.Optional(Nullable(Badge));
const TimeOfDay = Type.String({ pattern: TIME_OF_DAY_PATTERN });

/** An attribute key and its required value. */
export const ConfiguredCondition = Type.Object({ key: Type.String(), value: AttributeValue });
export type ConfiguredCondition = Static<typeof ConfiguredCondition>;
const Conditions = Type.Optional(Type.Array(ConfiguredCondition));

export const ConfiguredAttribute = Type.Object({
  key: Key,
  name: ResourceName,
  type: Type.Enum(['user', 'event']),
  writableBy: Type.Optional(Nullable(WritableBy)),
});
export type ConfiguredAttribute = Static<typeof ConfiguredAttribute>;

export const ConfiguredMetric = Type.Object({
  key: Key,
  name: ResourceName,
  unitType: Type.Optional(Type.Enum(['number', 'currency'], { default: 'number' })),
  units: Type.Optional(Type.String({ ...Units, default: '' })),
  guards: Type.Optional(Type.Union([MetricGuards, Type.Null()])),
});
export type ConfiguredMetric = Static<typeof ConfiguredMetric>;

/**
 * References use `achievementNames` for achievements without a key, and `achievementIds` for achievements without a key whose
 * name is not unique. Such achievements carry an `id`, the ID in the deployment that exported the document. In another
 * deployment it only connects references to their item.
 */
export const ConfiguredAchievement = Type.Object({
  id: Type.Optional(Uuid),
  key: Type.Optional(Key),
  name: ResourceName,
  description: OptionalDescription,
  badge: OptionalBadge,
  status: Type.Optional(Type.Enum(['inactive', 'active', 'locked'], { default: 'inactive' })),
  trigger: Type.Enum(['metric', 'streak', 'api', 'achievement', 'anniversary']),
  metricKey: Type.Optional(Type.String()),
  metricValue: Type.Optional(Type.Number()),
  streakLength: Type.Optional(Type.Integer()),
  anniversaryYears: Type.Optional(Type.Integer()),
  achievementKeys: Type.Optional(Type.Array(Type.String())),
  achievementNames: Type.Optional(Type.Array(Type.String())),
  achievementIds: Type.Optional(list(Type.String())),
  userAttributes: Conditions,
  eventAttributes: Conditions,
});
export type ConfiguredAchievement = Static<typeof ConfiguredAchievement>;

export const ConfiguredLevel = Type.Object({
  key: Key,
  name: ResourceName,
  points: Type.Integer({ minimum: 0 }),
  description: Type.Optional(Type.String({ ...Description, default: '' })),
  badge: OptionalBadge,
});
export type ConfiguredLevel = Static<typeof ConfiguredLevel>;

export const ConfiguredTrigger = Type.Object({
  type: Type.Enum(['metric', 'achievement', 'streak', 'time', 'user_creation']),
  points: Type.Integer(),
  status: Type.Optional(Type.Enum(['active', 'inactive'], { default: 'inactive' })),
  metricKey: Type.Optional(Type.String()),
  metricThreshold: Type.Optional(Type.Integer()),
  achievementKey: Type.Optional(Type.String()),
  achievementName: Type.Optional(Type.String()),
  achievementId: Type.Optional(Type.String()),
  streakLength: Type.Optional(Type.Integer()),
  timeUnit: Type.Optional(Type.Enum(['hours', 'days'])),
  timeInterval: Type.Optional(Type.Integer()),
  blockIfOutOfPoints: Type.Optional(Type.Boolean({ default: false })),
  userAttributes: Conditions,
  eventAttributes: Conditions,
});
export type ConfiguredTrigger = Static<typeof ConfiguredTrigger>;

export const ConfiguredBoost = Type.Object({
  name: ResourceName,
  userId: Type.Optional(Type.Union([UserId, Type.Null()])),
  start: LocalDate,
  end: Type.Optional(Type.Union([LocalDate, Type.Null()])),
  multiplier: Type.Number(),
  rounding: Type.Optional(Type.Enum(['down', 'up', 'nearest'], { default: 'down' })),
  userAttributes: Conditions,
});
export type ConfiguredBoost = Static<typeof ConfiguredBoost>;

export const ConfiguredPointsSystem = Type.Object({
  key: Key,
  name: ResourceName,
  description: OptionalDescription,
  badge: OptionalBadge,
  maxPoints: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  levels: Type.Optional(list(ConfiguredLevel)),
  triggers: Type.Optional(list(ConfiguredTrigger)),
  boosts: Type.Optional(list(ConfiguredBoost)),
});
export type ConfiguredPointsSystem = Static<typeof ConfiguredPointsSystem>;

/** `start` defaults to the day on which the leaderboard is created. */
export const ConfiguredLeaderboard = Type.Object({
  key: Key,
  name: ResourceName,
  description: OptionalDescription,
  status: Type.Optional(Type.Enum(['inactive', 'scheduled', 'active', 'finished'], { default: 'inactive' })),
  rankBy: Type.Enum(['metric', 'streak', 'points']),
  metricKey: Type.Optional(Type.String()),
  pointsSystemKey: Type.Optional(Type.String()),
  maxParticipants: Type.Optional(Type.Union([Type.Integer(), Type.Null()], { default: PARTICIPANTS.byDefault })),
  start: Type.Optional(LocalDate),
  end: Type.Optional(Type.Union([LocalDate, Type.Null()])),
  startTime: Type.Optional(Type.Union([TimeOfDay, Type.Null()])),
  endTime: Type.Optional(Type.Union([TimeOfDay, Type.Null()])),
  breakdownAttributes: Type.Optional(Type.Array(Type.String())),
  runUnit: Type.Optional(Type.Union([Type.Enum(['day', 'month', 'year']), Type.Null()])),
  runInterval: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
});
export type ConfiguredLeaderboard = Static<typeof ConfiguredLeaderboard>;

export const ConfiguredStreaks = Type.Object({
  enabled: Type.Optional(Type.Boolean()),
  frequency: Type.Optional(Type.Enum(['daily', 'weekly', 'monthly'])),
  weekStart: Type.Optional(Type.Enum(['sunday', 'monday'])),
  evaluationMode: Type.Optional(Type.Enum(['OR', 'AND'])),
  daysOff: Type.Optional(DaysOff),
  metrics: Type.Optional(Type.Array(Type.Object({ metricKey: Type.String(), threshold: Type.Number() }))),
  freezes: Type.Optional(
    Type.Object({
      enabled: Type.Optional(Type.Boolean()),
      initial: Type.Optional(Type.Integer()),
      max: Type.Optional(Type.Integer()),
      autoEarnInterval: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
      autoEarnAmount: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    }),
  ),
  personalization: Type.Optional(Type.Boolean()),
});
export type ConfiguredStreaks = Static<typeof ConfiguredStreaks>;

export const ConfiguredEvents = Type.Partial(EventSettings);
export type ConfiguredEvents = Static<typeof ConfiguredEvents>;

export const Configuration = Type.Object({
  attributes: Type.Optional(list(ConfiguredAttribute)),
  metrics: Type.Optional(list(ConfiguredMetric)),
  achievements: Type.Optional(list(ConfiguredAchievement)),
  pointsSystems: Type.Optional(list(ConfiguredPointsSystem)),
  leaderboards: Type.Optional(list(ConfiguredLeaderboard)),
  streaks: Type.Optional(ConfiguredStreaks),
  events: Type.Optional(ConfiguredEvents),
});
export type Configuration = Static<typeof Configuration>;

/** Kinds of resources in the document. */
const RESOURCE_KINDS = [
  'attribute',
  'metric',
  'achievement',
  'points_system',
  'points_level',
  'points_trigger',
  'points_boost',
  'leaderboard',
] as const;

/** A demo resource that the document keeps because it omits the resource's list. */
export const DemoResource = Type.Object({
  id: Type.String({ format: 'uuid' }),
  kind: Type.Enum([...RESOURCE_KINDS]),
  /** The name that a `ConfigurationChange` would use. */
  name: Type.String(),
  /** Key of the points system of a level, trigger or boost. */
  pointsSystemKey: Type.Optional(Type.String()),
});
export type DemoResource = Static<typeof DemoResource>;

/** What to do with demo resources that the document keeps. */
export const DemoChoice = Type.Enum(['remove', 'keep']);
export type DemoChoice = Static<typeof DemoChoice>;

/** A resource that applying a document created, changed or deleted. */
export const ConfigurationChange = Type.Object({
  action: Type.Enum(['create', 'update', 'delete']),
  kind: Type.Enum([...RESOURCE_KINDS, 'streaks', 'events']),
  /** The resource's key, its name if it has no key, or the type of a trigger. */
  name: Type.String(),
  /** Key of the points system of a level, trigger or boost. */
  pointsSystemKey: Type.Optional(Type.String()),
  /** Set on deletions: the resource belongs to the demo. */
  demo: Type.Optional(Type.Boolean()),
  /** Set on updates: names of the changed fields, as in the document. */
  fields: Type.Optional(Type.Array(Type.String())),
  /** Set on updates: previous and new values of those fields. A missing entry means no value. */
  before: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  after: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});
export type ConfigurationChange = Static<typeof ConfigurationChange>;
