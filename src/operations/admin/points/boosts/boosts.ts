import { Type } from 'typebox';
import { LocalDate, Nullable, Uuid } from '../../../../domain/schemas.ts';
import { boostStatus } from '../../../../domain/points.ts';
import { adminResource, Condition, conditions } from '../../../resource.ts';

const Multiplier = Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 100 });
const Rounding = Type.Enum(['down', 'up', 'nearest']);
const Status = Type.Enum(['active', 'scheduled', 'finished']);

export const boosts = adminResource({
  kind: 'points_boost',
  noun: 'boost',
  id: 'admin_points_boosts',
  path: '/v1/points/{systemId}/boosts',
  shape: {
    userId: Nullable(Type.String({ minLength: 1, maxLength: 255 })),
    name: Type.String({ minLength: 1, maxLength: 255 }),
    start: LocalDate,
    end: Nullable(LocalDate),
    multiplier: Multiplier,
    rounding: Rounding,
    userAttributes: Nullable(Type.Array(Condition)),
  },
  required: ['name', 'start', 'multiplier'],
  fixed: ['userId'],
  answer: Type.Object({
    id: Uuid,
    name: Type.String(),
    status: Status,
    start: LocalDate,
    end: Nullable(LocalDate),
    multiplier: Type.Number(),
    rounding: Rounding,
    userId: Nullable(Type.String()),
    userAttributes: Type.Optional(Type.Array(Condition)),
  }),
  // The contract has these IDs as plain strings: one that is none is an issue like any unknown one.
  ids: Type.Object({ ids: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }) }),
  issueId: 'boostId',
  defaults: () => ({ userId: null, end: null, rounding: 'down' as const, userAttributes: [] }),
  changes: ({ userAttributes, ...item }) => ({
    ...item,
    ...(userAttributes !== undefined && { userAttributes: conditions(userAttributes) }),
  }),
  show: ({ id, name, start, end, multiplier, rounding, userId, userAttributes }, utcDay) => ({
    id,
    name,
    status: boostStatus({ start, end }, utcDay),
    start,
    end,
    multiplier,
    rounding,
    userId,
    userAttributes,
  }),
});
