import type { Kind } from '../kinds.ts';
import { ACHIEVEMENT } from './achievement.ts';
import { ATTRIBUTE } from './attribute.ts';
import type { Fields } from './field.ts';
import { LEADERBOARD } from './leaderboard.ts';
import { METRIC } from './metric.ts';
import { POINTS_BOOST, POINTS_LEVEL, POINTS_SYSTEM, POINTS_TRIGGER } from './points.ts';
import { REWARD } from './reward.ts';
import { WEBHOOK } from './webhook.ts';

export const FIELDS: Readonly<Record<Kind, Fields>> = {
  attribute: ATTRIBUTE,
  metric: METRIC,
  achievement: ACHIEVEMENT,
  points_system: POINTS_SYSTEM,
  points_level: POINTS_LEVEL,
  points_trigger: POINTS_TRIGGER,
  points_boost: POINTS_BOOST,
  leaderboard: LEADERBOARD,
  reward: REWARD,
  webhook: WEBHOOK,
};
