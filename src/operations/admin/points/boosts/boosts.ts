import { Type } from 'typebox';
import { MOST } from '../../../../catalog/event-work.ts';
import { boostStatus } from '../../../../domain/points.ts';
import { adminResource } from '../../../resource.ts';

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
  // The contract has these IDs as plain strings: text that is not an ID is an issue, like an unknown ID.
  ids: Type.Object({ ids: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }) }),
  issueId: 'boostId',
});
