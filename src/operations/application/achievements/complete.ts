import { Type } from 'typebox';
import { AchievementCompletionResponse } from '../../../domain/event.ts';
import { UpsertedUser } from '../../../domain/user.ts';
import { isClient, operation } from '../../operation.ts';

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
