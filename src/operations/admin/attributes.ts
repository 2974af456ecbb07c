import { Type } from 'typebox';
import { writersIn } from '../../catalog/rules/references.ts';
import { WritableBy } from '../../domain/schemas.ts';
import { adminResource } from '../resource.ts';

export const attributes = adminResource({
  kind: 'attribute',
  noun: 'attribute',
  id: 'admin_attributes',
  path: '/v1/attributes',
  computed: {
    schemas: { effectiveWritableBy: Type.Optional(WritableBy) },
    of: (attribute, { catalog }) =>
      attribute.type === 'user' ? { effectiveWritableBy: writersIn(catalog)(attribute) } : {},
  },
});
