import { Type } from 'typebox';
import type { CompiledCatalog } from '../catalog/compiled-catalog.ts';
import { MOST } from '../catalog/event-work.ts';
import { JOB_STATUSES } from '../domain/administration/job.ts';
import {
  LeaderboardResponseWithRankings,
  LeaderboardWithStatus,
  RankingsAmongRequest,
  TeamRankings,
  UserLeaderboardResponseWithHistory,
} from '../domain/leaderboard.ts';
import { LeagueCohorts, LeagueOverview, UserLeague } from '../domain/leagues.ts';
import { boardStatus } from '../domain/runs.ts';
import { LocalDate, Uuid } from '../domain/schemas.ts';
import { AttributeFilter, StringMap } from '../domain/user.ts';
import { AppError } from '../errors.ts';
import { BODY_BYTES, isClient, operation } from './operation.ts';
import { adminResource, unknown } from './resource.ts';

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

export const adminLeaderboardFillingsList = operation(
  'admin_leaderboard_fillings_list',
  'GET /v1/leaderboard-fillings',
  {
    summary: 'Progress of filling activated leaderboards from history',
    responses: { 200: Type.Array(Filling) },
    answer: async ({ boardFills }, { tenant }) =>
      (await boardFills.list(tenant.no)).map(({ subjectId, status, done, total, result, requested, finished }) => ({
        leaderboardId: subjectId!,
        status,
        usersDone: done,
        usersTotal: total,
        scored: result.scored ?? 0,
        requested: requested.toISOString(),
        finished: finished === null ? null : finished.toISOString(),
      })),
  },
);

export const adminLeaderboardsGroups = operation('admin_leaderboards_groups', 'GET /v1/leaderboards/{id}/groups', {
  summary: 'The groups of a leaderboard with a breakdown, each with how many users are in it, largest first',
  description:
    'Of the present run, or of that which begins on `run`. A run that has ended has groups until its scores are final. ' +
    'Of a leaderboard with more than 1,000 groups, any 1,000 are counted.',
  params: Type.Object({ id: Uuid }),
  query: Type.Object({ run: Type.Optional(LocalDate) }),
  responses: { 200: Type.Array(Type.Object({ userAttributes: StringMap, users: Type.Integer() })) },
  answer: async ({ catalogs, leaderboards: reads }, { tenant, params, query: { run } }) => {
    const compiled = await catalogs.of(tenant.no);
    return reads.groups(compiled, keyOf(compiled, params.id), run);
  },
});

export const adminLeaderboardsLeagues = operation('admin_leaderboards_leagues', 'GET /v1/leaderboards/{id}/leagues', {
  summary: 'The leagues of a leaderboard: how many users and cohorts each tier has, lowest first',
  description:
    'Of the present run, or of that which begins on `run`. `waiting` users have a score in the run and no cohort, because the run ' +
    'before is not closed. 422 for a leaderboard without `leagues`.',
  params: Type.Object({ id: Uuid }),
  query: Type.Object({ run: Type.Optional(LocalDate) }),
  responses: { 200: LeagueOverview },
  answer: async ({ catalogs, leagues }, { tenant, params, query: { run } }) => {
    const compiled = await catalogs.of(tenant.no);
    return leagues.overview(compiled, keyOf(compiled, params.id), run);
  },
});

export const adminLeaderboardsCohorts = operation('admin_leaderboards_cohorts', 'GET /v1/leaderboards/{id}/cohorts', {
  summary: 'The cohorts of the leagues of a leaderboard, in the order in which they were created',
  description:
    'Of the present run, or of that which begins on `run`. A page that has fewer cohorts than `limit` is the last. `after` takes the ' +
    'ID of the last cohort of the page before. 422 for a leaderboard without `leagues`.',
  params: Type.Object({ id: Uuid }),
  query: Type.Object({
    run: Type.Optional(LocalDate),
    after: Type.Integer({ minimum: 0, default: 0 }),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  }),
  responses: { 200: LeagueCohorts },
  answer: async ({ catalogs, leagues }, { tenant, params, query }) => {
    const compiled = await catalogs.of(tenant.no);
    return leagues.cohorts(compiled, keyOf(compiled, params.id), query);
  },
});

/** The key of a leaderboard by ID. Throws 404. */
function keyOf(compiled: CompiledCatalog, id: string): string {
  const board = compiled.catalog.leaderboards.find((one) => one.id === id.toLowerCase());
  if (board === undefined) throw new AppError('not_found', unknown(leaderboards));
  return board.key;
}

export const leaderboardsGet = operation('leaderboards_get', 'GET /v1/leaderboards/{key}', {
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
  answer: async ({ catalogs, leaderboards }, { caller, tenant, params, query }) =>
    leaderboards.rankings(await catalogs.of(tenant.no), params.key, {
      ...query,
      groupOf: isClient(caller) ? caller.userId : null,
    }),
});

export const leaderboardsRankings = operation('leaderboards_rankings', 'POST /v1/leaderboards/{key}/rankings', {
  refusesUnknownQuery: true,
  keyScopes: ['read'],
  summary: 'Up to 500 users, such as friends, ranked among themselves',
  description:
    'Ranks count only the given users. Users without a score in the run, hidden and unknown ones are left out, and those beyond ' +
    '`maxParticipants` are not. An application key may ask only about lists that contain its own user. Of a leaderboard with ' +
    'breakdown attributes it reads the group of its own user; an admin key without `userAttributes` reads all groups together.',
  params: Type.Object({ key: Type.String() }),
  body: RankingsAmongRequest,
  // Fits 500 IDs of the maximum length.
  bodyBytes: 4 * BODY_BYTES,
  responses: { 200: LeaderboardResponseWithRankings },
  namedUsers: ({ caller, body: { userIds } }) => (userIds.includes(caller.userId ?? '') ? [] : userIds),
  answer: async ({ catalogs, leaderboards }, { caller, tenant, params, body }) =>
    leaderboards.among(await catalogs.of(tenant.no), params.key, {
      ...body,
      groupOf: isClient(caller) ? caller.userId : null,
    }),
});

export const leaderboardsTeams = operation('leaderboards_teams', 'GET /v1/leaderboards/{key}/teams', {
  refusesUnknownQuery: true,
  summary: 'The ranking of the teams of a leaderboard, of the current or a past run',
  description:
    'Of leaderboards with a `teamAttributeId`. A team has what its members earned while in it. An answer may be a moment old.',
  params: Type.Object({ key: Type.String() }),
  query: Type.Object({
    // Negative only with a team, for the neighbours above; the engine checks this.
    offset: Type.Integer({ default: 0 }),
    limit: Type.Integer({ minimum: 0, default: 10 }),
    run: Type.Optional(Type.String({ format: 'date' })),
    team: Type.Optional(Type.String()),
  }),
  responses: { 200: TeamRankings },
  answer: async ({ catalogs, leaderboards }, { tenant, params, query }) =>
    leaderboards.teams(await catalogs.of(tenant.no), params.key, query),
});

export const leaderboardsAll = operation('leaderboards_all', 'GET /v1/leaderboards', {
  summary: 'Leaderboards that are active or scheduled, and finished ones on request',
  query: Type.Object({ includeFinished: Type.Boolean({ default: false }) }),
  responses: { 200: Type.Array(LeaderboardWithStatus) },
  answer: async ({ catalogs, leaderboards }, { tenant, query }) =>
    leaderboards.list(await catalogs.of(tenant.no), query.includeFinished),
});

export const usersLeaderboard = operation('users_leaderboard', 'GET /v1/users/{id}/leaderboards/{key}', {
  summary: "A user's rank and value on a leaderboard, with daily snapshots",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  query: Type.Object({
    run: Type.Optional(Type.String({ format: 'date' })),
    numEvents: Type.Integer({ minimum: 0, maximum: 100, default: 10 }),
  }),
  responses: { 200: UserLeaderboardResponseWithHistory },
  namedUsers: ({ params }) => [params.id],
  answer: async ({ catalogs, leaderboards }, { tenant, params, query }) =>
    leaderboards.ofUser(await catalogs.of(tenant.no), params.id, { key: params.key, ...query }),
});

export const usersLeaderboardLeagues = operation(
  'users_leaderboard_leagues',
  'GET /v1/users/{id}/leaderboards/{key}/leagues',
  {
    refusesUnknownQuery: true,
    summary: "A user's tier and cohort in the leagues of a leaderboard, and who of the cohort moves",
    description:
      'Of the present run, or of that which begins on `run`. A user without a score in the run has no cohort, nor has one until the ' +
      'score is stored, some hundred milliseconds later, and until the run before is closed. 422 for a leaderboard without `leagues`.',
    params: Type.Object({ id: Type.String(), key: Type.String() }),
    query: Type.Object({ run: Type.Optional(Type.String({ format: 'date' })) }),
    responses: { 200: UserLeague },
    namedUsers: ({ params }) => [params.id],
    answer: async ({ catalogs, leagues }, { tenant, params, query }) =>
      leagues.ofUser(await catalogs.of(tenant.no), params.id, { key: params.key, ...query }),
  },
);
