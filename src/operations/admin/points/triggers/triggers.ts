import { Type } from 'typebox';
import { MOST } from '../../../../catalog/event-work.ts';
import { present } from '../../../../catalog/present.ts';
import { AnyIds } from '../../../../domain/admin.ts';
import { AttributeCondition } from '../../../../domain/catalog.ts';
import { Nullable, Uuid } from '../../../../domain/schemas.ts';
import { adminResource, conditions, idOf } from '../../../resource.ts';

const Fields = {
  type: Type.Enum(['metric', 'achievement', 'streak', 'time', 'user_creation']),
  points: Type.Integer(),
  status: Type.Enum(['active', 'inactive']),
  metricId: Uuid,
  metricThreshold: Type.Integer({ minimum: 1 }),
  achievementId: Uuid,
  streakLength: Type.Integer({ minimum: 1 }),
  timeUnit: Type.Enum(['hours', 'days']),
  timeInterval: Type.Integer({ minimum: 1 }),
  blockIfOutOfPoints: Type.Boolean(),
};

/** What only triggers of one type have. */
const OF_NO_TYPE = {
  metricId: null,
  metricThreshold: null,
  achievementId: null,
  streakLength: null,
  timeUnit: null,
  timeInterval: null,
  eventAttributes: [],
};

export const triggers = adminResource({
  kind: 'points_trigger',
  noun: 'trigger',
  limits: `At most ${MOST.points_trigger} of a points system, and ${MOST.points_trigger} that count one metric, are active at a time.`,
  id: 'admin_points_triggers',
  path: '/v1/points/{systemId}/triggers',
  shape: {
    ...Fields,
    userAttributes: Nullable(Type.Array(AttributeCondition)),
    eventAttributes: Nullable(Type.Array(AttributeCondition)),
  },
  required: ['type', 'points'],
  answer: Type.Object({
    id: Uuid,
    type: Fields.type,
    points: Fields.points,
    status: Fields.status,
    userAttributes: Type.Array(AttributeCondition),
    metricId: Type.Optional(Uuid),
    metricThreshold: Type.Optional(Type.Integer()),
    eventAttributes: Type.Optional(Type.Array(AttributeCondition)),
    achievementId: Type.Optional(Uuid),
    streakLength: Type.Optional(Type.Integer()),
    timeUnit: Type.Optional(Fields.timeUnit),
    timeInterval: Type.Optional(Type.Integer()),
    blockIfOutOfPoints: Type.Boolean(),
  }),
  ids: AnyIds,
  defaults: () => ({ ...OF_NO_TYPE, status: 'inactive' as const, blockIfOutOfPoints: false, userAttributes: [] }),
  changes: ({ metricId, achievementId, userAttributes, eventAttributes, ...item }) => ({
    ...item,
    ...(metricId !== undefined && { metricId: idOf(metricId) }),
    ...(achievementId !== undefined && { achievementId: idOf(achievementId) }),
    ...(userAttributes !== undefined && { userAttributes: conditions(userAttributes) }),
    ...(eventAttributes !== undefined && { eventAttributes: conditions(eventAttributes) }),
  }),
  cleared: ({ type = null }, current) => (type === null || type === current.type ? {} : OF_NO_TYPE),
  show: ({ id, type, points, status, userAttributes, blockIfOutOfPoints, ...trigger }) => ({
    id,
    type,
    points,
    status,
    userAttributes,
    ...present<object>({
      metricId: trigger.metricId,
      metricThreshold: trigger.metricThreshold,
      eventAttributes: type === 'metric' ? trigger.eventAttributes : null,
      achievementId: trigger.achievementId,
      streakLength: trigger.streakLength,
      timeUnit: trigger.timeUnit,
      timeInterval: trigger.timeInterval,
    }),
    blockIfOutOfPoints,
  }),
});
