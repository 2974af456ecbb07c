import { Type } from 'typebox';
import { PointsBoostResponse } from '../../../domain/points.ts';
import { operation } from '../../operation.ts';

export const pointsBoosts = operation({
  id: 'points_boosts',
  surface: 'application',
  method: 'get',
  path: '/v1/points/{key}/boosts',
  summary: 'The boosts of a points system that are not for one user only',
  params: Type.Object({ key: Type.String() }),
  query: Type.Object({ includeFinished: Type.Boolean({ default: false }) }),
  responses: { 200: Type.Array(PointsBoostResponse) },
  handle: async ({ catalogs, points }, { tenant, params, query }) => ({
    status: 200,
    body: points.boosts(await catalogs.of(tenant.no), params.key, query.includeFinished),
  }),
});
