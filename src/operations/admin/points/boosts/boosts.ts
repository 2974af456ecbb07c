import { Type } from 'typebox';
import { MOST } from '../../../../catalog/event-work.ts';
import { AttributeCondition, ResourceName } from '../../../../domain/catalog.ts';
import { LocalDate, Nullable, Uuid } from '../../../../domain/schemas.ts';
import { UserId } from '../../../../domain/user.ts';
import { boostStatus } from '../../../../domain/points.ts';
import { adminResource, conditions } from '../../../resource.ts';

const Multiplier = Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 100 });
const Rounding = Type.Enum(['down', 'up', 'nearest']);
const Status = Type.Enum(['active', 'scheduled', 'finished']);

export const boosts = adminResource({
  kind: 'points_boost',
  noun: 'boost',
  limits: `A points system has at most ${MOST.points_boost} for all users that have not ended, and ${MOST.points_boost} for one user.`,
  id: 'admin_points_boosts',
  path: '/v1/points/{systemId}/boosts',
  shape: {
    userId: Nullable(UserId),
    name: ResourceName,
    start: LocalDate,
    end: Nullable(LocalDate),
    multiplier: Multiplier,
    rounding: Rounding,
    userAttributes: Nullable(Type.Array(AttributeCondition)),
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
    userAttributes: Type.Optional(Type.Array(AttributeCondition)),
  }),
  // The contract has these IDs as plain strings: one that is none is an issue like any unknown one.
  ids: Type.Object({ ids: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }) }),
  issueId: 'boostId',
  defaults: () => ({ userId: null, end: null, rounding: 'down' as const, userAttributes: [] }),
  changes: ({ userAttributes, ...item }) => ({
    ...item,
    ...(userAttributes !== undefined && { userAttributes: conditions(userAttributes) }),
  }),
  show: ({ id, name, start, end, multiplier, rounding, userId, userAttributes }, { utcDay }) => ({
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
