import { Type } from 'typebox';
import { operation } from '../../operation.ts';

const Filling = Type.Object({
  leaderboardId: Type.String({ format: 'uuid' }),
  status: Type.Enum(['waiting', 'running', 'done']),
  /** Users looked at so far, of how many (null before the beginning), and how many of them have a score by history. */
  usersDone: Type.Integer(),
  usersTotal: Type.Union([Type.Integer(), Type.Null()]),
  scored: Type.Integer(),
  requested: Type.String({ format: 'date-time' }),
  finished: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});

export const adminLeaderboardFillingsList = operation({
  id: 'admin_leaderboard_fillings_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/leaderboard-fillings',
  summary: 'How far leaderboards that were switched on are filled from history',
  responses: { 200: Type.Array(Filling) },
  handle: async ({ boardFills }, { tenant }) => ({
    status: 200,
    body: (await boardFills.list(tenant.no)).map(
      ({ boardId, status, usersDone, usersTotal, scored, requested, finished }) => ({
        leaderboardId: boardId,
        status,
        usersDone,
        usersTotal,
        scored,
        requested: requested.toISOString(),
        finished: finished === null ? null : finished.toISOString(),
      }),
    ),
  }),
});
