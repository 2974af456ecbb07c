import { Type } from 'typebox';
import { AttributeFilter } from '../../domain/user.ts';
import { LeaderboardResponseWithRankings, LeaderboardWithStatus } from '../../domain/leaderboard.ts';
import { isClient, operation } from '../operation.ts';

export const leaderboardsGet = operation({
  id: 'leaderboards_get',
  surface: 'application',
  method: 'get',
  path: '/v1/leaderboards/{key}',
  summary: "A page of a leaderboard's rankings, from the top or around a user, of the current or a past run",
  description:
    'Of a leaderboard with breakdown attributes an application key reads the group of its own user: any other is 403.',
  params: Type.Object({ key: Type.String() }),
  query: Type.Object({
    // Negative only with a userId, for the neighbours above; the engine checks this.
    offset: Type.Integer({ default: 0 }),
    limit: Type.Integer({ minimum: 0, default: 10 }),
    run: Type.Optional(Type.String({ format: 'date' })),
    userId: Type.Optional(Type.String()),
    userAttributes: Type.Optional(AttributeFilter),
  }),
  responses: { 200: LeaderboardResponseWithRankings },
  namedUsers: ({ query }) => (query.userId === undefined ? [] : [query.userId]),
  handle: async ({ catalogs, leaderboards }, { caller, tenant, params, query }) => ({
    status: 200,
    body: await leaderboards.rankings(await catalogs.of(tenant.no), params.key, {
      ...query,
      groupOf: isClient(caller) ? caller.userId : null,
    }),
  }),
});

export const leaderboardsAll = operation({
  id: 'leaderboards_all',
  surface: 'application',
  method: 'get',
  path: '/v1/leaderboards',
  summary: 'Leaderboards that are active or scheduled, and finished ones on request',
  query: Type.Object({ includeFinished: Type.Boolean({ default: false }) }),
  responses: { 200: Type.Array(LeaderboardWithStatus) },
  handle: async ({ catalogs, leaderboards }, { tenant, query }) => ({
    status: 200,
    body: leaderboards.list(await catalogs.of(tenant.no), query.includeFinished),
  }),
});
