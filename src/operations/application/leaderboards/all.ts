import { Type } from 'typebox';
import { LeaderboardWithStatus } from '../../../domain/leaderboard.ts';
import { operation } from '../../operation.ts';

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
