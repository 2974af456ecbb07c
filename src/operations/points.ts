import { Type } from 'typebox';
import { MOST } from '../catalog/event-work.ts';
import { AnyIds } from '../domain/administration/admin.ts';
import { EventSummaryEntry, EventSummaryQuery } from '../domain/history.ts';
import {
  boostStatus,
  GetUserPointsResponse,
  PointsBoostResponse,
  PointsLevelResponse,
  PointsLevelSummaryResponse,
  PointsRange,
  PointsSystemResponse,
} from '../domain/points.ts';
import { AttributeFilter } from '../domain/user.ts';
import { isClient, operation } from './operation.ts';
import { adminResource } from './resource.ts';

export const boosts = adminResource({
  kind: 'points_boost',
  noun: 'boost',
  limits: `A points system has at most ${MOST.points_boost} for all users that have not ended, and ${MOST.points_boost} for one user.`,
  id: 'admin_points_boosts',
  path: '/v1/points/{systemId}/boosts',
  computed: {
    schemas: { status: Type.Enum(['active', 'scheduled', 'finished']) },
    of: (boost, { utcDay }) => ({ status: boostStatus(boost, utcDay) }),
  },
  // The contract declares these IDs as plain strings: malformed ones are issues, like unknown IDs.
  ids: Type.Object({ ids: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }) }),
  issueId: 'boostId',
});

export const levels = adminResource({
  kind: 'points_level',
  noun: 'level',
  id: 'admin_points_levels',
  path: '/v1/points/{systemId}/levels',
  ids: AnyIds,
});

export const triggers = adminResource({
  kind: 'points_trigger',
  noun: 'trigger',
  limits: `At most ${MOST.points_trigger} of a points system, and ${MOST.points_trigger} that count one metric, are active at a time.`,
  id: 'admin_points_triggers',
  path: '/v1/points/{systemId}/triggers',
  ids: AnyIds,
});

/** A system may be created with its levels, boosts and triggers. */
export const systems = adminResource({
  kind: 'points_system',
  noun: 'points system',
  id: 'admin_points_systems',
  path: '/v1/points',
  computed: {
    schemas: { status: Type.Enum(['active', 'archived']) },
    of: () => ({ status: 'active' }),
  },
  parts: { levels, boosts, triggers },
  ids: AnyIds,
});

export const pointsBoosts = operation('points_boosts', 'GET /v1/points/{key}/boosts', {
  summary: 'The boosts of a points system, except those for single users',
  params: Type.Object({ key: Type.String() }),
  query: Type.Object({ includeFinished: Type.Boolean({ default: false }) }),
  responses: { 200: Type.Array(PointsBoostResponse) },
  answer: async ({ catalogs, points }, { tenant, params, query }) =>
    points.boosts(await catalogs.of(tenant.no), params.key, query.includeFinished),
});

export const pointsLevelSummary = operation('points_level_summary', 'GET /v1/points/{key}/level-summary', {
  summary: 'How many users are on each level of a points system',
  params: Type.Object({ key: Type.String() }),
  responses: { 200: PointsLevelSummaryResponse },
  answer: async ({ catalogs, points }, { tenant, params }) =>
    points.levelSummary(await catalogs.of(tenant.no), params.key),
});

export const pointsLevels = operation('points_levels', 'GET /v1/points/{key}/levels', {
  summary: 'The levels of a points system, lowest first',
  params: Type.Object({ key: Type.String() }),
  responses: { 200: Type.Array(PointsLevelResponse) },
  answer: async ({ catalogs, points }, { tenant, params }) => points.levels(await catalogs.of(tenant.no), params.key),
});

export const pointsSummary = operation('points_summary', 'GET /v1/points/{key}/summary', {
  summary: 'How many users hold how many points, in 11 ranges',
  description: '`userAttributes` is for admin keys: with an application key it is 403.',
  params: Type.Object({ key: Type.String() }),
  query: Type.Object({ userAttributes: Type.Optional(AttributeFilter) }),
  responses: { 200: Type.Array(PointsRange) },
  answer: async ({ catalogs, points }, { caller, tenant, params, query }) =>
    points.summary(await catalogs.of(tenant.no), params.key, query.userAttributes, {
      byClient: isClient(caller),
    }),
});

export const pointsSystem = operation('points_system', 'GET /v1/points/{key}', {
  summary: 'A points system with its active triggers',
  params: Type.Object({ key: Type.String() }),
  responses: { 200: PointsSystemResponse },
  answer: async ({ catalogs, points }, { tenant, params, caller }) =>
    points.system(await catalogs.of(tenant.no), params.key, { seesSecrets: !isClient(caller) }),
});

export const usersPointsBoosts = operation('users_points_boosts', 'GET /v1/users/{id}/points/{key}/boosts', {
  summary: "The boosts that apply to a user's awards in a points system today",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  responses: { 200: Type.Array(PointsBoostResponse) },
  namedUsers: ({ params }) => [params.id],
  answer: async ({ catalogs, userPoints }, { tenant, params }) =>
    userPoints.boosts(await catalogs.of(tenant.no), params.id, params.key),
});

export const usersPointsEventSummary = operation(
  'users_points_event_summary',
  'GET /v1/users/{id}/points/{key}/event-summary',
  {
    summary: "A user's points in a points system by day, week or month",
    params: Type.Object({ id: Type.String(), key: Type.String() }),
    query: EventSummaryQuery,
    responses: { 200: Type.Array(EventSummaryEntry) },
    namedUsers: ({ params }) => [params.id],
    handle: async ({ catalogs, history }, { tenant, params: { id: userId, key }, query }) => {
      return { status: 200, json: await history.pointsSummary(await catalogs.of(tenant.no), { userId, key, query }) };
    },
  },
);

export const usersPoints = operation('users_points', 'GET /v1/users/{id}/points/{key}', {
  summary: "A user's points, level and latest awards in a points system",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  query: Type.Object({ awards: Type.Integer({ minimum: 1, maximum: 100, default: 10 }) }),
  responses: { 200: GetUserPointsResponse },
  namedUsers: ({ params }) => [params.id],
  answer: async ({ catalogs, userPoints }, { tenant, params, query }) =>
    userPoints.points(await catalogs.of(tenant.no), params.id, { key: params.key, awards: query.awards }),
});
