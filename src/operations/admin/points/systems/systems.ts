import { Type } from 'typebox';
import { AnyIds } from '../../../../domain/admin.ts';
import { adminResource } from '../../../resource.ts';
import { boosts } from '../boosts/boosts.ts';
import { levels } from '../levels/levels.ts';
import { triggers } from '../triggers/triggers.ts';

/** May be created with its levels, boosts and triggers. */
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
