import { Type } from 'typebox';
import { guardsOrNone } from '../../../catalog/rules/guards.ts';
import { ResourceName, Units } from '../../../domain/catalog.ts';
import { MetricGuards } from '../../../domain/guards.ts';
import { Nullable, Uuid } from '../../../domain/schemas.ts';
import { adminResource, Key } from '../../resource.ts';

const UnitType = Type.Enum(['number', 'currency']);

export const metrics = adminResource({
  kind: 'metric',
  noun: 'metric',
  id: 'admin_metrics',
  path: '/v1/metrics',
  shape: { name: ResourceName, key: Key, unitType: UnitType, units: Units, guards: Nullable(MetricGuards) },
  required: ['name', 'key'],
  fixed: ['key'],
  answer: Type.Object({
    id: Uuid,
    name: Type.String(),
    key: Type.String(),
    unitType: UnitType,
    units: Type.String(),
    guards: Type.Optional(MetricGuards),
  }),
  defaults: () => ({ unitType: 'number' as const, units: '', guards: null }),
  changes: ({ guards, ...item }) => ({ ...item, ...(guards !== undefined && { guards: guardsOrNone(guards) }) }),
  show: ({ id, name, key, unitType, units, guards }) => ({ id, name, key, unitType, units, ...(guards && { guards }) }),
});
