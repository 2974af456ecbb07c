import { Type } from 'typebox';
import { MetricResponse, UserAchievementWithStatsResponse } from '../../domain/achievement.ts';
import { EventSummaryEntry, EventSummaryQuery, WrappedResponse } from '../../domain/history.ts';
import { UserLeaderboardResponseWithHistory } from '../../domain/leaderboard.ts';
import { GetUserPointsResponse, PointsBoostResponse } from '../../domain/points.ts';
import { UpdateUserPreferencesRequest, UserPreferencesResponse } from '../../domain/notifications/preferences.ts';
import { StreakResponse } from '../../domain/streaks/streak.ts';
import { ChangedUser, UpdatedUser, UpsertedUser, User, UserId } from '../../domain/user.ts';
import { type Call, isClient, operation } from '../operation.ts';
import type { Services } from '../services.ts';

export const usersGet = operation({
  id: 'users_get',
  surface: 'application',
  keyScopes: ['read', 'profile'],
  method: 'get',
  path: '/v1/users/{id}',
  summary: 'A user',
  params: Type.Object({ id: UserId }),
  responses: { 200: User },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, profiles }, { tenant, params }) => ({
    status: 200,
    body: await profiles.get(await catalogs.of(tenant.no), params.id),
  }),
});

/** Records the names of fields that an admin key changed, never their values. Runs in the background. */
function recordProfileChange(
  { recordAudit }: Pick<Services, 'recordAudit'>,
  { tenant, caller, by }: Pick<Call<unknown, unknown, unknown>, 'tenant' | 'caller' | 'by'>,
  { userId, sent }: { userId: string; sent: object },
): void {
  if (caller.kind !== 'admin') return;
  const fields = Object.keys(sent).filter((name) => name !== 'id');
  void recordAudit({
    tenantNo: tenant.no,
    by,
    entries: [{ action: 'update', kind: 'user', userId, after: { fields } }],
  });
}

async function changeProfile(
  services: Services,
  call: Pick<Call<unknown, unknown, unknown>, 'tenant' | 'caller' | 'by' | 'span'>,
  { how, userId, sent }: { how: 'upsert' | 'update'; userId: string; sent: UpdatedUser },
): Promise<ChangedUser> {
  const compiled = await services.catalogs.of(call.tenant.no);
  const options = { byClient: isClient(call.caller), span: call.span };
  const changed = await services.profiles[how](compiled, userId, sent, options);
  recordProfileChange(services, call, { userId, sent });
  return changed;
}

export const usersCreate = operation({
  id: 'users_create',
  surface: 'application',
  keyScopes: ['profile'],
  audited: true,
  method: 'post',
  path: '/v1/users',
  summary: 'Create or change a user',
  body: UpsertedUser,
  responses: { 201: ChangedUser },
  namedUsers: ({ body }) => [body.id],
  handle: async (services, call) => ({
    status: 201,
    body: await changeProfile(services, call, { how: 'upsert', userId: call.body.id, sent: call.body }),
  }),
});

export const usersUpdate = operation({
  id: 'users_update',
  surface: 'application',
  keyScopes: ['profile'],
  audited: true,
  method: 'patch',
  path: '/v1/users/{id}',
  summary: 'Change an existing user',
  params: Type.Object({ id: UserId }),
  body: UpdatedUser,
  responses: { 200: ChangedUser },
  namedUsers: ({ params }) => [params.id],
  handle: async (services, call) => ({
    status: 200,
    body: await changeProfile(services, call, { how: 'update', userId: call.params.id, sent: call.body }),
  }),
});

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

export const usersAllMetrics = operation({
  id: 'users_all_metrics',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/metrics',
  summary: "A user's totals of all metrics, and their achievements",
  params: Type.Object({ id: Type.String() }),
  responses: { 200: Type.Array(MetricResponse) },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, users }, { tenant, params }) => ({
    status: 200,
    body: await users.metrics(await catalogs.of(tenant.no), params.id),
  }),
});

export const usersGetPreferences = operation({
  id: 'users_get_preferences',
  surface: 'application',
  keyScopes: ['read', 'profile'],
  method: 'get',
  path: '/v1/users/{id}/preferences',
  summary: 'A user’s preferences',
  params: Type.Object({ id: Type.String() }),
  responses: { 200: UserPreferencesResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, profiles }, { tenant, params }) => ({
    status: 200,
    body: await profiles.preferences(await catalogs.of(tenant.no), params.id),
  }),
});

export const usersIdentify = operation({
  id: 'users_identify',
  surface: 'application',
  keyScopes: ['profile'],
  audited: true,
  method: 'put',
  path: '/v1/users/{id}',
  summary: 'Change a user, or create one',
  params: Type.Object({ id: UserId }),
  body: UpdatedUser,
  responses: { 200: ChangedUser },
  namedUsers: ({ params }) => [params.id],
  handle: async (services, call) => ({
    status: 200,
    body: await changeProfile(services, call, { how: 'upsert', userId: call.params.id, sent: call.body }),
  }),
});

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

export const usersMetricEventSummary = operation({
  id: 'users_metric_event_summary',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/metrics/{key}/event-summary',
  summary: "A user's total of a metric by day, week or month",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  query: EventSummaryQuery,
  responses: { 200: Type.Array(EventSummaryEntry) },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, history }, { tenant, params, query }) => ({
    status: 200,
    body: await history.metricSummary(await catalogs.of(tenant.no), { userId: params.id, key: params.key, query }),
  }),
});

export const usersPointsBoosts = operation({
  id: 'users_points_boosts',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/points/{key}/boosts',
  summary: "The boosts that apply to a user's awards in a points system today",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  responses: { 200: Type.Array(PointsBoostResponse) },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, userPoints }, { tenant, params }) => ({
    status: 200,
    body: await userPoints.boosts(await catalogs.of(tenant.no), params.id, params.key),
  }),
});

export const usersPointsEventSummary = operation({
  id: 'users_points_event_summary',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/points/{key}/event-summary',
  summary: "A user's points in a points system by day, week or month",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  query: EventSummaryQuery,
  responses: { 200: Type.Array(EventSummaryEntry) },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, history }, { tenant, params, query }) => ({
    status: 200,
    body: await history.pointsSummary(await catalogs.of(tenant.no), { userId: params.id, key: params.key, query }),
  }),
});

export const usersPoints = operation({
  id: 'users_points',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/points/{key}',
  summary: "A user's points, level and latest awards in a points system",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  query: Type.Object({ awards: Type.Integer({ minimum: 1, maximum: 100, default: 10 }) }),
  responses: { 200: GetUserPointsResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, userPoints }, { tenant, params, query }) => ({
    status: 200,
    body: await userPoints.points(await catalogs.of(tenant.no), params.id, { key: params.key, awards: query.awards }),
  }),
});

export const usersSingleMetric = operation({
  id: 'users_single_metric',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/metrics/{key}',
  summary: "A user's total of a metric, and its achievements",
  params: Type.Object({ id: Type.String(), key: Type.String() }),
  responses: { 200: MetricResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, users }, { tenant, params }) => ({
    status: 200,
    body: await users.metric(await catalogs.of(tenant.no), params.id, params.key),
  }),
});

export const usersStreak = operation({
  id: 'users_streak',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/streak',
  summary: "A user's streak today, and in the periods before",
  params: Type.Object({ id: Type.String() }),
  query: Type.Object({ historyPeriods: Type.Integer({ default: 7 }) }),
  responses: { 200: StreakResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, streaks }, { tenant, params, query }) => ({
    status: 200,
    body: await streaks.ofUser(await catalogs.of(tenant.no), params.id, query.historyPeriods),
  }),
});

export const usersUpdatePreferences = operation({
  id: 'users_update_preferences',
  surface: 'application',
  keyScopes: ['profile'],
  audited: true,
  method: 'patch',
  path: '/v1/users/{id}/preferences',
  summary: 'Change a user’s preferences',
  params: Type.Object({ id: Type.String() }),
  body: UpdateUserPreferencesRequest,
  responses: { 200: UserPreferencesResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async (services, call) => {
    const { tenant, params, body, span } = call;
    const changed = await services.profiles.updatePreferences(
      await services.catalogs.of(tenant.no),
      params.id,
      body,
      span,
    );
    recordProfileChange(services, call, { userId: params.id, sent: body });
    return { status: 200, body: changed };
  },
});

export const usersWrapped = operation({
  id: 'users_wrapped',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/wrapped',
  summary: "A user's year in review",
  params: Type.Object({ id: Type.String() }),
  query: Type.Object({ year: Type.Optional(Type.Integer({ minimum: 1 })) }),
  responses: { 200: WrappedResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, wrapped }, { tenant, params, query }) => ({
    status: 200,
    body: await wrapped.read(await catalogs.of(tenant.no), params.id, query.year),
  }),
});
