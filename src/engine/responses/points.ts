import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { PointsBoost, PointsLevel, PointsSystem, PointsTrigger } from '../../domain/catalog.ts';
import { POINTS_TRIGGER } from '../../domain/fields/points.ts';
import { additionsOf } from '../../domain/fields/wire.ts';
import {
  boostStatus,
  type PointsBoostResponse,
  type PointsLevelResponse,
  type PointsResponse,
  type PointsTriggerResponse,
} from '../../domain/points.ts';
import { SECRET_NAME } from './achievements.ts';
import { attributePairs, eventAttributeFields } from './attribute-pairs.ts';

export const pointsResponse = (system: PointsSystem): PointsResponse => ({
  id: system.id,
  key: system.key,
  name: system.name,
  description: system.description,
  badgeUrl: system.badgeUrl,
  maxPoints: system.maxPoints,
});

export const levelResponse = (level: PointsLevel): PointsLevelResponse => ({
  id: level.id,
  key: level.key,
  name: level.name,
  description: level.description,
  badgeUrl: level.badgeUrl,
  points: level.points,
});

export function boostResponse(boost: PointsBoost, day: number): PointsBoostResponse {
  return {
    id: boost.id,
    name: boost.name,
    status: boostStatus(boost, day),
    start: boost.start,
    end: boost.end,
    multiplier: boost.multiplier,
    rounding: boost.rounding,
  };
}

/** A trigger in the Application API, with the fields of its type only. */
export function triggerResponse(
  compiled: CompiledCatalog,
  trigger: PointsTrigger,
  { seesSecrets = true }: { seesSecrets?: boolean } = {},
): PointsTriggerResponse {
  const metric = compiled.metricsById.get(trigger.metricId ?? '');
  const achievement = compiled.achievementsById.get(trigger.achievementId ?? '');
  return {
    id: trigger.id,
    type: trigger.type,
    points: trigger.points,
    status: trigger.status,
    ...(trigger.type === 'metric' && {
      ...(metric !== undefined && { metricId: metric.id, metricName: metric.name }),
      metricThreshold: trigger.metricThreshold ?? 1,
      ...eventAttributeFields(compiled, trigger.eventAttributes),
    }),
    ...(trigger.type === 'streak' && { streakLengthThreshold: trigger.streakLength ?? 1 }),
    ...(achievement !== undefined && {
      achievementId: achievement.id,
      achievementName: achievement.secret && !seesSecrets ? SECRET_NAME : achievement.name,
    }),
    ...(trigger.type === 'time' && {
      timeUnit: trigger.timeUnit === 'hours' ? ('hour' as const) : ('day' as const),
      timeInterval: trigger.timeInterval ?? 1,
    }),
    ...additionsOf(POINTS_TRIGGER, trigger),
    userAttributes: attributePairs(compiled, trigger.userAttributes),
    created: new Date(trigger.created).toISOString(),
    updated: new Date(trigger.updated).toISOString(),
  };
}
