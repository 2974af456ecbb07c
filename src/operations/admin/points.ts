import { Type } from 'typebox';
import { MOST } from '../../catalog/event-work.ts';
import { AnyIds } from '../../domain/administration/admin.ts';
import { boostStatus } from '../../domain/points.ts';
import { adminResource } from '../resource.ts';

export const boosts = adminResource({
  kind: 'points_boost',
  noun: 'boost',
  limits: `A points system has at most ${MOST.points_boost} for all users that have not ended, and ${MOST.points_boost} for one user.`,
  id: 'admin_points_boosts',
  path: '/v1/points/{systemId}/boosts',
  computed: {
    schemas: { status: Type.Enum(['active', 'scheduled', 'finished']) },
    of: (boost, { utcDay }) => ({ status: boostStatus(boost, utcDay) }),
  },
  // The contract declares these IDs as plain strings: malformed ones are issues, like unknown IDs.
  ids: Type.Object({ ids: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }) }),
  issueId: 'boostId',
});

export const levels = adminResource({
  kind: 'points_level',
  noun: 'level',
  id: 'admin_points_levels',
  path: '/v1/points/{systemId}/levels',
  ids: AnyIds,
});

export const triggers = adminResource({
  kind: 'points_trigger',
  noun: 'trigger',
  limits: `At most ${MOST.points_trigger} of a points system, and ${MOST.points_trigger} that count one metric, are active at a time.`,
  id: 'admin_points_triggers',
  path: '/v1/points/{systemId}/triggers',
  ids: AnyIds,
});

/** A system may be created with its levels, boosts and triggers. */
export const systems = adminResource({
  kind: 'points_system',
  noun: 'points system',
  id: 'admin_points_systems',
  path: '/v1/points',
  computed: {
    schemas: { status: Type.Enum(['active', 'archived']) },
    of: () => ({ status: 'active' }),
  },
  parts: { levels, boosts, triggers },
  ids: AnyIds,
});
