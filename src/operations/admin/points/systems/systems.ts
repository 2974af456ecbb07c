import { Type } from 'typebox';
import { AnyIds } from '../../../../domain/admin.ts';
import { Badge, Description, ResourceName } from '../../../../domain/catalog.ts';
import { Nullable, Uuid } from '../../../../domain/schemas.ts';
import { adminResource, badge, badgeUrl, Key } from '../../../resource.ts';
import { boosts } from '../boosts/boosts.ts';
import { levels } from '../levels/levels.ts';
import { triggers } from '../triggers/triggers.ts';

const MaxPoints = Nullable(Type.Integer({ minimum: 1 }));

/** May be created with its levels, boosts and triggers. */
export const systems = adminResource({
  kind: 'points_system',
  noun: 'points system',
  id: 'admin_points_systems',
  path: '/v1/points',
  shape: { name: ResourceName, key: Key, description: Description, badge: Nullable(Badge), maxPoints: MaxPoints },
  required: ['name', 'key'],
  fixed: ['key'],
  answer: Type.Object({
    id: Uuid,
    name: Type.String(),
    key: Type.String(),
    description: Type.String(),
    status: Type.Enum(['active', 'archived']),
    badge: Nullable(Badge),
    maxPoints: MaxPoints,
  }),
  parts: { levels, boosts, triggers },
  ids: AnyIds,
  defaults: () => ({ description: null, badgeUrl: null, maxPoints: null }),
  changes: ({ badge: sent, ...item }) => ({ ...item, ...badgeUrl(sent) }),
  show: ({ id, name, key, description, badgeUrl: url, maxPoints }) => ({
    id,
    name,
    key,
    description: description ?? '',
    status: 'active' as const,
    badge: badge(url),
    maxPoints,
  }),
});
