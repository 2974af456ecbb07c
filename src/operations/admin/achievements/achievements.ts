import { Type } from 'typebox';
import { MOST } from '../../../catalog/event-work.ts';
import { present } from '../../../catalog/present.ts';
import { Nullable, Uuid } from '../../../domain/schemas.ts';
import { AttributeCondition, Badge, Description, ResourceName } from '../../../domain/catalog.ts';
import { adminResource, badge, badgeUrl, conditions, idOf, Key } from '../../resource.ts';

const Fields = {
  trigger: Type.Enum(['metric', 'streak', 'api', 'achievement', 'anniversary']),
  status: Type.Enum(['inactive', 'active', 'locked']),
  metricValue: Type.Number({ exclusiveMinimum: 0 }),
  streakLength: Type.Integer({ minimum: 1 }),
  anniversaryYears: Type.Integer({ minimum: 1 }),
};

/** What only achievements of one trigger have. */
const OF_NO_TRIGGER = {
  metricId: null,
  metricValue: null,
  streakLength: null,
  anniversaryYears: null,
  achievementIds: [],
  eventAttributes: [],
};

export const achievements = adminResource({
  kind: 'achievement',
  noun: 'achievement',
  limits: `At most ${MOST.achievement} of one metric, and ${MOST.achievement} of each other trigger but \`api\`, are active at a time.`,
  id: 'admin_achievements',
  path: '/v1/achievements',
  shape: {
    ...Fields,
    name: ResourceName,
    description: Nullable(Description),
    badge: Nullable(Badge),
    key: Key,
    metricId: Uuid,
    achievementIds: Type.Array(Uuid),
    userAttributes: Nullable(Type.Array(AttributeCondition)),
    eventAttributes: Nullable(Type.Array(AttributeCondition)),
  },
  required: ['name', 'trigger'],
  answer: Type.Object({
    id: Uuid,
    name: Type.String(),
    key: Type.Optional(Type.String()),
    description: Nullable(Type.String()),
    badge: Nullable(Badge),
    status: Fields.status,
    trigger: Fields.trigger,
    metricId: Type.Optional(Uuid),
    metricValue: Type.Optional(Type.Number()),
    streakLength: Type.Optional(Type.Integer()),
    anniversaryYears: Type.Optional(Type.Integer()),
    achievementIds: Type.Optional(Type.Array(Uuid)),
    userAttributes: Type.Array(AttributeCondition),
    eventAttributes: Type.Optional(Type.Array(AttributeCondition)),
  }),
  defaults: () => ({
    ...OF_NO_TRIGGER,
    key: null,
    description: null,
    badgeUrl: null,
    status: 'inactive' as const,
    userAttributes: [],
  }),
  changes: ({ badge: sent, metricId, achievementIds, userAttributes, eventAttributes, ...item }) => ({
    ...item,
    ...badgeUrl(sent),
    ...(metricId !== undefined && { metricId: idOf(metricId) }),
    ...(achievementIds !== undefined && { achievementIds: achievementIds.map((id) => id.toLowerCase()) }),
    ...(userAttributes !== undefined && { userAttributes: conditions(userAttributes) }),
    ...(eventAttributes !== undefined && { eventAttributes: conditions(eventAttributes) }),
  }),
  cleared: ({ trigger = null }, current) => (trigger === null || trigger === current.trigger ? {} : OF_NO_TRIGGER),
  show: ({ id, name, key, description, status, trigger, userAttributes, ...achievement }) => ({
    id,
    name,
    ...present<object>({ key }),
    description,
    badge: badge(achievement.badgeUrl),
    status,
    trigger,
    ...present<object>({
      metricId: achievement.metricId,
      metricValue: achievement.metricValue,
      streakLength: achievement.streakLength,
      anniversaryYears: achievement.anniversaryYears,
      achievementIds: trigger === 'achievement' ? achievement.achievementIds : null,
      eventAttributes: trigger === 'metric' ? achievement.eventAttributes : null,
    }),
    userAttributes,
  }),
});
