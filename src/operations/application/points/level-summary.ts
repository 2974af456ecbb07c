import { Type } from 'typebox';
import { PointsLevelSummaryResponse } from '../../../domain/points.ts';
import { operation } from '../../operation.ts';

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
