import { Type } from 'typebox';
import { GetUserPointsResponse } from '../../../domain/points.ts';
import { operation } from '../../operation.ts';

export const usersPoints = operation({
  id: 'users_points',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/points/{key}',
  summary: "A user's points, level and latest awards in a points system",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  query: Type.Object({ awards: Type.Integer({ minimum: 1, maximum: 100, default: 10 }) }),
  responses: { 200: GetUserPointsResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, userPoints }, { tenant, params, query }) => ({
    status: 200,
    body: await userPoints.points(await catalogs.of(tenant.no), params.id, { key: params.key, awards: query.awards }),
  }),
});
