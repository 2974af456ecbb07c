import type { ACHIEVEMENT } from './fields/achievement.ts';
import type { ATTRIBUTE } from './fields/attribute.ts';
import type { Stored } from './fields/field.ts';
import type { LEADERBOARD } from './fields/leaderboard.ts';
import type { METRIC } from './fields/metric.ts';
import type { POINTS_BOOST, POINTS_LEVEL, POINTS_SYSTEM, POINTS_TRIGGER } from './fields/points.ts';
import type { REWARD } from './fields/reward.ts';
import {
  DEFAULT_EVENT_SETTINGS,
  DEFAULT_STREAK_SETTINGS,
  type EventSettings,
  type StreakSettings,
} from './fields/tenant-settings.ts';
import type { WEBHOOK } from './fields/webhook.ts';
import { DEFAULT_MESSAGE_SETTINGS, type MessageSettings } from './notifications/message-settings.ts';

/**
 * The catalog: an administrator's configuration as Postgres stores it. Every resource has an `id` (UUID, used in the API) and
 * a `no` (small integer, used in Redis and the event tables; unique within the tenant and never reused). Resources refer to
 * one another by `id`; the configuration document translates IDs to keys.
 */

/** Fields that Laurel sets; `no` is unique within the tenant and never reused. Times are epoch ms. */
export type Managed = {
  id: string;
  no: number;
  created: number;
  updated: number;
};

type PartOfSystem = Managed & { systemId: string };

export type Attribute = Managed & Stored<typeof ATTRIBUTE>;
export type Metric = Managed & Stored<typeof METRIC>;
export type Achievement = Managed &
  Stored<typeof ACHIEVEMENT> & {
    /** As of a trigger; only of achievements for final ranks. */
    activated?: number | null;
  };
/** IDs of the achievements that must be completed before an achievement: a composite's parts, and those that it requires. */
export const neededBy = (achievement: Pick<Achievement, 'achievementIds' | 'requires'> | undefined): string[] =>
  achievement === undefined ? [] : [...achievement.achievementIds, ...achievement.requires];

export type PointsSystem = Managed & Stored<typeof POINTS_SYSTEM>;
export type PointsLevel = PartOfSystem & Stored<typeof POINTS_LEVEL>;

export type PointsTrigger = PartOfSystem &
  Stored<typeof POINTS_TRIGGER> & {
    /** When the status last became `active`, or the leaderboard another one (epoch ms). Nothing is awarded for earlier periods and runs. */
    activated: number | null;
  };

export type PointsBoost = PartOfSystem & Stored<typeof POINTS_BOOST>;

export type Leaderboard = Managed &
  Stored<typeof LEADERBOARD> & {
    finished?: number;
  };

export type Reward = Managed & Stored<typeof REWARD>;

/** The secret is stored separately (`webhook_secrets`), hidden from readers of the catalog. */
export type Webhook = Managed &
  Stored<typeof WEBHOOK> & {
    /** Number of secrets so far; the newest one signs. */
    secretNo: number;
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

/** Limit for each tenant: Laurel checks each notification against all of them. */
export const MOST_WEBHOOKS = 100;

/** Limit for each catalog, all kinds together. */
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
  rewards: Reward[];
  webhooks: Webhook[];
  events: EventSettings;
  messages: MessageSettings;
  /** Previous settings that may apply to unsettled midnights of some users, oldest first. */
  streaksBefore?: readonly EarlierStreaks[];
  /**
   * By number of the leaderboard: first day (epoch day) of the oldest run whose scores users must keep, because its sorted sets may
   * still be in Redis. As of when the catalog was read; later runs may have become the oldest since.
   */
  keptRuns?: Readonly<Record<number, number>>;
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
  rewards: [],
  webhooks: [],
  events: DEFAULT_EVENT_SETTINGS,
  messages: DEFAULT_MESSAGE_SETTINGS,
  streaks: DEFAULT_STREAK_SETTINGS,
});
