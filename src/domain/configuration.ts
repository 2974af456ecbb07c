import { Type, type Static, type TSchema } from 'typebox';
import { MOST_RESOURCES } from './catalog.ts';
import { EventSettings, FreezeSettings, StreakSettings } from './fields/tenant-settings.ts';
import { ACHIEVEMENT } from './fields/achievement.ts';
import { ATTRIBUTE } from './fields/attribute.ts';
import { documentFields, withoutBounds } from './fields/document.ts';
import type { Configured, Fields } from './fields/field.ts';
import { LEADERBOARD } from './fields/leaderboard.ts';
import { METRIC } from './fields/metric.ts';
import { POINTS_BOOST, POINTS_LEVEL, POINTS_SYSTEM, POINTS_TRIGGER } from './fields/points.ts';
import { REWARD } from './fields/reward.ts';
import { MessageSettings } from './notifications/message-settings.ts';
import { Uuid } from './schemas.ts';

export type { ConfiguredCondition } from './fields/field.ts';

/**
 * The whole configuration of a tenant as one document. Resources refer to one another by key, never by ID. A list is
 * complete: applying the document deletes resources that the list omits. A list or streak setting that the document does
 * not contain stays unchanged. A field that a resource omits takes its default.
 */

/** One list may hold as many resources as a tenant may have in total. */
const list = <T extends TSchema>(item: T) => Type.Array(item, { maxItems: MOST_RESOURCES });

const item = (fields: Fields, more: Record<string, TSchema> = {}) =>
  Type.Object({ ...more, ...documentFields(fields) });

export type ConfiguredAttribute = Configured<typeof ATTRIBUTE>;
export type ConfiguredMetric = Configured<typeof METRIC>;

/**
 * References use `achievementNames` for achievements without a key, and `achievementIds` for achievements without a key whose
 * name is not unique. Such achievements carry an `id`, the ID in the deployment that exported the document. In another
 * deployment it only connects references to their item.
 */
export type ConfiguredAchievement = Configured<typeof ACHIEVEMENT> & { id?: string };

export type ConfiguredLevel = Configured<typeof POINTS_LEVEL>;
export type ConfiguredTrigger = Configured<typeof POINTS_TRIGGER>;
export type ConfiguredBoost = Configured<typeof POINTS_BOOST>;

export type ConfiguredPointsSystem = Configured<typeof POINTS_SYSTEM> & {
  levels?: ConfiguredLevel[];
  triggers?: ConfiguredTrigger[];
  boosts?: ConfiguredBoost[];
};

/** `start` defaults to the earliest local day anywhere when the leaderboard is created. */
export type ConfiguredLeaderboard = Configured<typeof LEADERBOARD>;

export type ConfiguredReward = Configured<typeof REWARD>;

const looseFreezes = Object.fromEntries(
  Object.entries(FreezeSettings.properties).map(([name, schema]) => [name, withoutBounds(schema)]),
) as typeof FreezeSettings.properties;

/** The streak settings. Their metrics are named by key. */
export const ConfiguredStreaks = Type.Partial(
  Type.Object({
    ...StreakSettings.properties,
    metrics: Type.Array(Type.Object({ metricKey: Type.String(), threshold: Type.Number() })),
    freezes: Type.Partial(Type.Object(looseFreezes)),
  }),
);
export type ConfiguredStreaks = Static<typeof ConfiguredStreaks>;

export const ConfiguredEvents = Type.Partial(EventSettings);
export type ConfiguredEvents = Static<typeof ConfiguredEvents>;

export const ConfiguredMessages = Type.Partial(MessageSettings);
export type ConfiguredMessages = Static<typeof ConfiguredMessages>;

export interface Configuration {
  attributes?: ConfiguredAttribute[];
  metrics?: ConfiguredMetric[];
  achievements?: ConfiguredAchievement[];
  pointsSystems?: ConfiguredPointsSystem[];
  leaderboards?: ConfiguredLeaderboard[];
  rewards?: ConfiguredReward[];
  streaks?: ConfiguredStreaks;
  events?: ConfiguredEvents;
  messages?: ConfiguredMessages;
}

const documentSchemas = {
  attributes: Type.Optional(list(item(ATTRIBUTE))),
  metrics: Type.Optional(list(item(METRIC))),
  achievements: Type.Optional(list(item(ACHIEVEMENT, { id: Type.Optional(Uuid) }))),
  pointsSystems: Type.Optional(
    list(
      item(POINTS_SYSTEM, {
        levels: Type.Optional(list(item(POINTS_LEVEL))),
        triggers: Type.Optional(list(item(POINTS_TRIGGER))),
        boosts: Type.Optional(list(item(POINTS_BOOST))),
      }),
    ),
  ),
  leaderboards: Type.Optional(list(item(LEADERBOARD))),
  rewards: Type.Optional(list(item(REWARD))),
  streaks: Type.Optional(ConfiguredStreaks),
  events: Type.Optional(ConfiguredEvents),
  messages: Type.Optional(ConfiguredMessages),
};

export const Configuration = Type.Unsafe<Configuration>(Type.Object(documentSchemas));

/** The document of a request. Editors read `$schema`, which is no part of the configuration. */
export const SentConfiguration = Type.Unsafe<Configuration>(
  Type.Object({
    $schema: Type.Optional(
      Type.String({
        description: 'Address of this document’s JSON Schema, for editors. Laurel ignores it.',
        examples: ['http://localhost:8081/v1/configuration/schema'],
      }),
    ),
    ...documentSchemas,
  }),
);

/** The JSON Schema of the document, for editors: requests with unknown fields are refused, so it does not allow any. */
export const configurationJsonSchema = (): object => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Laurel configuration',
  ...(JSON.parse(JSON.stringify(SentConfiguration), (_name, value: unknown) =>
    isObjectSchema(value) ? { ...value, additionalProperties: false } : value,
  ) as object),
});

const isObjectSchema = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  (value as { type?: unknown }).type === 'object' &&
  'properties' in value;

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
  'reward',
] as const;

/** What else of the document changes: a template, named by its kind and locale, and the settings. */
const OTHER_KINDS = ['message_template', 'push_template', 'streaks', 'events', 'messages'] as const;

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

export const DemoChoice = Type.Enum(['remove', 'keep']);
export type DemoChoice = Static<typeof DemoChoice>;

/** A resource that applying a document created, changed or deleted. */
export const ConfigurationChange = Type.Object({
  action: Type.Enum(['create', 'update', 'delete']),
  kind: Type.Enum([...RESOURCE_KINDS, ...OTHER_KINDS]),
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

/** A version of the configuration: who made it, when, and what it changed. */
export const ConfigurationVersion = Type.Object({
  version: Type.Integer(),
  at: Type.String({ format: 'date-time' }),
  /** As in the audit log. */
  who: Type.String(),
  changeCount: Type.Integer(),
  /** The first changes. */
  changes: Type.Array(
    Type.Object({
      action: Type.Enum(['create', 'update', 'delete', 'rotate']),
      /** Also `webhook`, although the document has no webhooks. */
      kind: Type.Enum([...RESOURCE_KINDS, ...OTHER_KINDS, 'webhook']),
      name: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});
export type ConfigurationVersion = Static<typeof ConfigurationVersion>;
