import { Type } from 'typebox';
import { writersIn } from '../../../catalog/rules/referrers.ts';
import { ResourceName, WritableBy } from '../../../domain/catalog.ts';
import { Nullable, Uuid } from '../../../domain/schemas.ts';
import { adminResource, Key } from '../../resource.ts';

const AttributeType = Type.Enum(['user', 'event']);

export const attributes = adminResource({
  kind: 'attribute',
  noun: 'attribute',
  id: 'admin_attributes',
  path: '/v1/attributes',
  shape: { name: ResourceName, key: Key, type: AttributeType, writableBy: Nullable(WritableBy) },
  required: ['name', 'key', 'type'],
  fixed: ['key', 'type'],
  answer: Type.Object({
    id: Uuid,
    name: Type.String(),
    key: Type.String(),
    type: AttributeType,
    writableBy: Type.Optional(Nullable(WritableBy)),
    effectiveWritableBy: Type.Optional(WritableBy),
  }),
  defaults: () => ({ writableBy: null }),
  changes: (item) => item,
  show: (attribute, { catalog }) => {
    const { id, name, key, type, writableBy } = attribute;
    const writers = type === 'user' && { writableBy, effectiveWritableBy: writersIn(catalog)(attribute) };
    return { id, name, key, type, ...writers };
  },
});
