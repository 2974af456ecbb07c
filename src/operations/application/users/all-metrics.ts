import { Type } from 'typebox';
import { MetricResponse } from '../../../domain/achievement.ts';
import { operation } from '../../operation.ts';

export const usersAllMetrics = operation({
  id: 'users_all_metrics',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/metrics',
  summary: "A user's totals of all metrics, and their achievements",
  params: Type.Object({ id: Type.String() }),
  responses: { 200: Type.Array(MetricResponse) },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, users }, { tenant, params }) => ({
    status: 200,
    body: await users.metrics(await catalogs.of(tenant.no), params.id),
  }),
});
