import { Type } from 'typebox';
import { PointsLevelResponse } from '../../../domain/points.ts';
import { operation } from '../../operation.ts';

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
