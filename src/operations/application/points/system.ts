import { Type } from 'typebox';
import { PointsSystemResponse } from '../../../domain/points.ts';
import { operation } from '../../operation.ts';

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
