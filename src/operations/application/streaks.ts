import { Type } from 'typebox';
import { BulkStreakResponse, StreakRankings, StreakRankingType } from '../../domain/streaks/streak.ts';
import { operation } from '../operation.ts';

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

export const streaksRankings = operation({
  id: 'streaks_rankings',
  surface: 'application',
  method: 'get',
  path: '/v1/streaks/rankings',
  summary: 'The users with the longest streaks',
  description:
    'Of an earlier version of the contract; a leaderboard of streaks is its successor. `active` ranks streaks as they stand, `longest` ' +
    'the longest that each user ever had. Users who are hidden from leaderboards are left out. An answer may be a second old.',
  deprecated: true,
  query: Type.Object({
    limit: Type.Integer({ default: 10 }),
    type: StreakRankingType,
  }),
  responses: { 200: StreakRankings },
  handle: async ({ catalogs, streakRankings }, { tenant, query }) => ({
    status: 200,
    body: await streakRankings.top(await catalogs.of(tenant.no), query.type, query.limit),
  }),
});
