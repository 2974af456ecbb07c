import { Type } from 'typebox';
import { BulkStreakResponse } from '../../../domain/streak.ts';
import { operation } from '../../operation.ts';

export const streaksList = operation({
  id: 'streaks_list',
  surface: 'application',
  method: 'get',
  path: '/v1/streaks',
  summary: 'The streak lengths of up to 100 users, longest first',
  query: Type.Object({ userIds: Type.Array(Type.String()) }),
  responses: { 200: BulkStreakResponse },
  namedUsers: ({ query }) => query.userIds,
  handle: async ({ catalogs, streaks }, { tenant, query }) => ({
    status: 200,
    body: await streaks.list(await catalogs.of(tenant.no), query.userIds),
  }),
});
