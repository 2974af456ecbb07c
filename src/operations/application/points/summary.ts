import { Type } from 'typebox';
import { AttributeFilter } from '../../../domain/attribute-filter.ts';
import { PointsRange } from '../../../domain/points.ts';
import { isClient, operation } from '../../operation.ts';

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
