import { Type } from 'typebox';
import { MOST } from '../../catalog/event-work.ts';
import { JOB_STATUSES } from '../../domain/administration/job.ts';
import { boardStatus } from '../../domain/runs.ts';
import { LocalDate, Uuid } from '../../domain/schemas.ts';
import { StringMap } from '../../domain/user.ts';
import { AppError } from '../../errors.ts';
import { operation } from '../operation.ts';
import { adminResource } from '../resource.ts';
import { unknown } from '../resource-edit.ts';

export const leaderboards = adminResource({
  kind: 'leaderboard',
  noun: 'leaderboard',
  limits: `At most ${MOST.leaderboard} that rank by one metric, by one points system or by the streak are active or scheduled at a time.`,
  id: 'admin_leaderboards',
  path: '/v1/leaderboards',
  // A board's dates move it from `scheduled` to `active` to `finished`, regardless of the stored status.
  computed: { schemas: {}, of: (board, { utcDay }) => ({ status: boardStatus(board, utcDay) ?? 'inactive' }) },
});

const Filling = Type.Object({
  leaderboardId: Type.String({ format: 'uuid' }),
  status: Type.Enum([...JOB_STATUSES]),
  /** Users examined so far, of how many (`null` before the start), and how many of them have a score from history. */
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
  summary: 'Progress of filling activated leaderboards from history',
  responses: { 200: Type.Array(Filling) },
  handle: async ({ boardFills }, { tenant }) => ({
    status: 200,
    body: (await boardFills.list(tenant.no)).map(({ subjectId, status, done, total, result, requested, finished }) => ({
      leaderboardId: subjectId!,
      status,
      usersDone: done,
      usersTotal: total,
      scored: result.scored ?? 0,
      requested: requested.toISOString(),
      finished: finished === null ? null : finished.toISOString(),
    })),
  }),
});

export const adminLeaderboardsGroups = operation({
  id: 'admin_leaderboards_groups',
  surface: 'admin',
  method: 'get',
  path: '/v1/leaderboards/{id}/groups',
  summary: 'The groups of a leaderboard with a breakdown, each with how many users are in it, largest first',
  description:
    'Of the present run, or of that which begins on `run`. A run that has ended has groups until its scores are final. ' +
    'Of a leaderboard with more than 1,000 groups, any 1,000 are counted.',
  params: Type.Object({ id: Uuid }),
  query: Type.Object({ run: Type.Optional(LocalDate) }),
  responses: { 200: Type.Array(Type.Object({ userAttributes: StringMap, users: Type.Integer() })) },
  handle: async ({ catalogs, leaderboards: reads }, { tenant, params, query: { run } }) => {
    const compiled = await catalogs.of(tenant.no);
    const id = params.id.toLowerCase();
    const board = compiled.catalog.leaderboards.find((one) => one.id === id);
    if (board === undefined) throw new AppError('not_found', unknown(leaderboards));
    return { status: 200, body: await reads.groups(compiled, board.key, run) };
  },
});
