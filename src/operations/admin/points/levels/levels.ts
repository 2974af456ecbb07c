import { Type } from 'typebox';
import { AnyIds } from '../../../../domain/admin.ts';
import { Badge, Description, ResourceName } from '../../../../domain/catalog.ts';
import { Nullable, Uuid } from '../../../../domain/schemas.ts';
import { adminResource, badge, badgeUrl, Key } from '../../../resource.ts';

const Points = Type.Integer({ minimum: 0 });

export const levels = adminResource({
  kind: 'points_level',
  noun: 'level',
  id: 'admin_points_levels',
  path: '/v1/points/{systemId}/levels',
  shape: { name: ResourceName, key: Key, points: Points, description: Description, badge: Nullable(Badge) },
  required: ['name', 'key', 'points'],
  fixed: ['key'],
  answer: Type.Object({
    id: Uuid,
    name: Type.String(),
    key: Type.String(),
    points: Points,
    description: Type.String(),
    badge: Nullable(Badge),
  }),
  ids: AnyIds,
  defaults: () => ({ description: '', badgeUrl: null }),
  changes: ({ badge: sent, ...item }) => ({ ...item, ...badgeUrl(sent) }),
  show: ({ id, name, key, points, description, badgeUrl: url }) => ({
    id,
    name,
    key,
    points,
    description,
    badge: badge(url),
  }),
});
