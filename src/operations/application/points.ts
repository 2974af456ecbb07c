import { Type } from 'typebox';
import { AttributeFilter } from '../../domain/user.ts';
import {
  PointsBoostResponse,
  PointsLevelResponse,
  PointsLevelSummaryResponse,
  PointsRange,
  PointsSystemResponse,
} from '../../domain/points.ts';
import { isClient, operation } from '../operation.ts';

export const pointsBoosts = operation({
  id: 'points_boosts',
  surface: 'application',
  method: 'get',
  path: '/v1/points/{key}/boosts',
  summary: 'The boosts of a points system, except those for single users',
  params: Type.Object({ key: Type.String() }),
  query: Type.Object({ includeFinished: Type.Boolean({ default: false }) }),
  responses: { 200: Type.Array(PointsBoostResponse) },
  handle: async ({ catalogs, points }, { tenant, params, query }) => ({
    status: 200,
    body: points.boosts(await catalogs.of(tenant.no), params.key, query.includeFinished),
  }),
});

export const pointsLevelSummary = operation({
  id: 'points_level_summary',
  surface: 'application',
  method: 'get',
  path: '/v1/points/{key}/level-summary',
  summary: 'How many users are on each level of a points system',
  params: Type.Object({ key: Type.String() }),
  responses: { 200: PointsLevelSummaryResponse },
  handle: async ({ catalogs, points }, { tenant, params }) => ({
    status: 200,
    body: await points.levelSummary(await catalogs.of(tenant.no), params.key),
  }),
});

export const pointsLevels = operation({
  id: 'points_levels',
  surface: 'application',
  method: 'get',
  path: '/v1/points/{key}/levels',
  summary: 'The levels of a points system, lowest first',
  params: Type.Object({ key: Type.String() }),
  responses: { 200: Type.Array(PointsLevelResponse) },
  handle: async ({ catalogs, points }, { tenant, params }) => ({
    status: 200,
    body: points.levels(await catalogs.of(tenant.no), params.key),
  }),
});

export const pointsSummary = operation({
  id: 'points_summary',
  surface: 'application',
  method: 'get',
  path: '/v1/points/{key}/summary',
  summary: 'How many users hold how many points, in 11 ranges',
  description: '`userAttributes` is for admin keys: with an application key it is 403.',
  params: Type.Object({ key: Type.String() }),
  query: Type.Object({ userAttributes: Type.Optional(AttributeFilter) }),
  responses: { 200: Type.Array(PointsRange) },
  handle: async ({ catalogs, points }, { caller, tenant, params, query }) => ({
    status: 200,
    body: await points.summary(await catalogs.of(tenant.no), params.key, query.userAttributes, {
      byClient: isClient(caller),
    }),
  }),
});

export const pointsSystem = operation({
  id: 'points_system',
  surface: 'application',
  method: 'get',
  path: '/v1/points/{key}',
  summary: 'A points system with its active triggers',
  params: Type.Object({ key: Type.String() }),
  responses: { 200: PointsSystemResponse },
  handle: async ({ catalogs, points }, { tenant, params }) => ({
    status: 200,
    body: points.system(await catalogs.of(tenant.no), params.key),
  }),
});
