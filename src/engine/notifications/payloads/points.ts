import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { PointsBoost, PointsLevel, PointsSystem } from '../../../domain/catalog.ts';
import type { PointsAwardResponse } from '../../../domain/points.ts';
import { levelResponse, pointsResponse } from '../../responses/points-response.ts';
import { isoTime, payloadJson, userPayloadJson, type UserJson } from './payload.ts';

/** A change of a user's points in a system: the totals, and what was awarded between them. */
export interface PointsChange {
  system: PointsSystem;
  before: number;
  total: number;
  awards: PointsAwardResponse[];
}

const levelOrNull = (level: PointsLevel | null) => (level === null ? null : levelResponse(level));

/** Payload of `points.changed`, as an event's answer shows the system: `level` is there only if it changed. */
export function pointsChanged(
  compiled: CompiledCatalog,
  user: UserJson,
  { system, before, total, awards }: PointsChange,
): string {
  const level = compiled.levelOf(system.id, total);
  const changed = level?.id !== compiled.levelOf(system.id, before)?.id;
  return userPayloadJson('points.changed', user, {
    points: {
      ...pointsResponse(system),
      total,
      ...(changed && { level: levelOrNull(level) }),
      added: total - before,
      awards,
    },
  });
}

/** Payload of `points.level_changed`; null: below the first level. */
export const levelChanged = (
  user: UserJson,
  {
    system,
    total,
    previousLevel,
    newLevel,
  }: { system: PointsSystem; total: number; previousLevel: PointsLevel | null; newLevel: PointsLevel | null },
): string =>
  userPayloadJson('points.level_changed', user, {
    points: { ...pointsResponse(system), total },
    previousLevel: levelOrNull(previousLevel),
    newLevel: levelOrNull(newLevel),
  });

const BOOST_STATUS = { 'points.boost_started': 'active', 'points.boost_finished': 'finished' } as const;

/** Payload of `points.boost_started` and `points.boost_finished`, due at `dueMs` (epoch ms). */
export const boostPayload = (
  type: 'points.boost_started' | 'points.boost_finished',
  { boost, system, dueMs }: { boost: PointsBoost; system: PointsSystem; dueMs: number },
): string =>
  payloadJson(type, {
    timestamp: isoTime(dueMs),
    boost: {
      id: boost.id,
      name: boost.name,
      status: BOOST_STATUS[type],
      userId: boost.userId,
      pointsSystemId: system.id,
      pointsSystemKey: system.key,
      pointsSystemName: system.name,
      start: boost.start,
      end: boost.end,
      multiplier: boost.multiplier,
      rounding: boost.rounding,
    },
  });
