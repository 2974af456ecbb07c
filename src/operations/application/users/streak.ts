import { Type } from 'typebox';
import { StreakResponse } from '../../../domain/streak.ts';
import { operation } from '../../operation.ts';

export const usersStreak = operation({
  id: 'users_streak',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/streak',
  summary: "A user's streak today, and in the periods before",
  params: Type.Object({ id: Type.String() }),
  query: Type.Object({ historyPeriods: Type.Integer({ default: 7 }) }),
  responses: { 200: StreakResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, streaks }, { tenant, params, query }) => ({
    status: 200,
    body: await streaks.ofUser(await catalogs.of(tenant.no), params.id, query.historyPeriods),
  }),
});
