import { Type } from 'typebox';
import { MetricResponse } from '../../../domain/achievement.ts';
import { operation } from '../../operation.ts';

export const usersSingleMetric = operation({
  id: 'users_single_metric',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/metrics/{key}',
  summary: "A user's total of a metric, and its achievements",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  responses: { 200: MetricResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, users }, { tenant, params }) => ({
    status: 200,
    body: await users.metric(await catalogs.of(tenant.no), params.id, params.key),
  }),
});
