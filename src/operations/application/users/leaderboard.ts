import { Type } from 'typebox';
import { UserLeaderboardResponseWithHistory } from '../../../domain/leaderboard.ts';
import { operation } from '../../operation.ts';

export const usersLeaderboard = operation({
  id: 'users_leaderboard',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/leaderboards/{key}',
  summary: "A user's rank and value on a leaderboard, with daily snapshots",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  query: Type.Object({
    run: Type.Optional(Type.String({ format: 'date' })),
    numEvents: Type.Integer({ minimum: 0, maximum: 100, default: 10 }),
  }),
  responses: { 200: UserLeaderboardResponseWithHistory },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, leaderboards }, { tenant, params, query }) => ({
    status: 200,
    body: await leaderboards.ofUser(await catalogs.of(tenant.no), params.id, { key: params.key, ...query }),
  }),
});
