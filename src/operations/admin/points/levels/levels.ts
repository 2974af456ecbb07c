import { AnyIds } from '../../../../domain/admin.ts';
import { adminResource } from '../../../resource.ts';

export const levels = adminResource({
  kind: 'points_level',
  noun: 'level',
  id: 'admin_points_levels',
  path: '/v1/points/{systemId}/levels',
  ids: AnyIds,
});
