import { Type } from 'typebox';
import { UserAchievementWithStatsResponse } from '../../../domain/achievement.ts';
import { operation } from '../../operation.ts';

export const usersAchievements = operation({
  id: 'users_achievements',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/achievements',
  summary: 'The achievements a user has, and those still to get',
  params: Type.Object({ id: Type.String() }),
  query: Type.Object({ includeIncomplete: Type.Optional(Type.Enum(['true'])) }),
  responses: { 200: Type.Array(UserAchievementWithStatsResponse) },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, achievements }, { tenant, params, query }) => ({
    status: 200,
    body: await achievements.ofUser(await catalogs.of(tenant.no), params.id, query.includeIncomplete === 'true'),
  }),
});
