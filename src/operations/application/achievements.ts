import { Type } from 'typebox';
import { AchievementWithStatsResponse } from '../../domain/achievement.ts';
import { AttributeFilter, UpsertedUser } from '../../domain/user.ts';
import { AchievementCompletionResponse } from '../../domain/event.ts';
import { isClient, operation } from '../operation.ts';

export const achievementsAll = operation({
  id: 'achievements_all',
  surface: 'application',
  method: 'get',
  path: '/v1/achievements',
  summary: 'The achievements, and how many users have them',
  query: Type.Object({ userAttributes: Type.Optional(AttributeFilter) }),
  responses: { 200: Type.Array(AchievementWithStatsResponse) },
  handle: async ({ catalogs, achievements }, { tenant, query }) => ({
    status: 200,
    body: await achievements.list(await catalogs.of(tenant.no), query.userAttributes),
  }),
});

export const achievementsComplete = operation({
  id: 'achievements_complete',
  surface: 'application',
  method: 'post',
  path: '/v1/achievements/{key}/complete',
  summary: 'Complete an achievement for a user',
  params: Type.Object({ key: Type.String() }),
  body: Type.Object({ user: UpsertedUser }),
  responses: { 201: AchievementCompletionResponse },
  namedUsers: ({ body }) => [body.user.id],
  handle: async ({ catalogs, completion }, { caller, tenant, params, body, span }) => ({
    status: 201,
    json: await completion.complete(await catalogs.of(tenant.no), params.key, body.user, {
      byClient: isClient(caller),
      span,
    }),
  }),
});
