import { Type } from 'typebox';
import { PointsBoostResponse } from '../../../domain/points.ts';
import { operation } from '../../operation.ts';

export const usersPointsBoosts = operation({
  id: 'users_points_boosts',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/points/{key}/boosts',
  summary: "The boosts that apply to a user's awards in a points system today",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  responses: { 200: Type.Array(PointsBoostResponse) },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, userPoints }, { tenant, params }) => ({
    status: 200,
    body: await userPoints.boosts(await catalogs.of(tenant.no), params.id, params.key),
  }),
});
