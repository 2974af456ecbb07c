import { Type } from 'typebox';
import { Uuid } from '../../../domain/schemas.ts';
import { adminResource, Key, Name } from '../../resource.ts';

const AttributeType = Type.Enum(['user', 'event']);

export const attributes = adminResource({
  kind: 'attribute',
  noun: 'attribute',
  id: 'admin_attributes',
  path: '/v1/attributes',
  shape: { name: Name, key: Key, type: AttributeType },
  required: ['name', 'key', 'type'],
  fixed: ['key', 'type'],
  answer: Type.Object({ id: Uuid, name: Type.String(), key: Type.String(), type: AttributeType }),
  defaults: () => ({}),
  changes: (item) => item,
  show: ({ id, name, key, type }) => ({ id, name, key, type }),
});
