import { Type } from 'typebox';
import { Uuid } from '../../../domain/schemas.ts';
import { adminResource, Key, Name } from '../../resource.ts';

const UnitType = Type.Enum(['number', 'currency']);

export const metrics = adminResource({
  kind: 'metric',
  noun: 'metric',
  id: 'admin_metrics',
  path: '/v1/metrics',
  shape: { name: Name, key: Key, unitType: UnitType, units: Type.String() },
  required: ['name', 'key'],
  fixed: ['key'],
  answer: Type.Object({
    id: Uuid,
    name: Type.String(),
    key: Type.String(),
    unitType: UnitType,
    units: Type.String(),
  }),
  defaults: () => ({ unitType: 'number' as const, units: '' }),
  changes: (item) => item,
  show: ({ id, name, key, unitType, units }) => ({ id, name, key, unitType, units }),
});
