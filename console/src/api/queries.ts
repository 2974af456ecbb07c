import { queryOptions } from '@tanstack/react-query';
import type { paths as AdminPaths } from '../../generated/admin.ts';
import type { paths as ApplicationPaths } from '../../generated/application.ts';
import { all, answer } from './answer.ts';
import { admin, application } from './client.ts';

type Read<P, K extends keyof P> = P[K] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;
/** The answer to GET of an Admin API path. */
export type AdminRead<K extends keyof AdminPaths> = Read<AdminPaths, K>;
/** The answer to GET of an Application API path. */
export type ApplicationRead<K extends keyof ApplicationPaths> = Read<ApplicationPaths, K>;

export type Metric = AdminRead<'/v1/metrics'>[number];
export type Attribute = AdminRead<'/v1/attributes'>[number];
export type Achievement = AdminRead<'/v1/achievements'>[number];
export type PointsSystem = AdminRead<'/v1/points'>[number];
export type Leaderboard = AdminRead<'/v1/leaderboards'>[number];
export type Reward = AdminRead<'/v1/rewards'>[number];
export type User = AdminRead<'/v1/users'>[number];
export type TimelineEntry = AdminRead<'/v1/users/{id}/timeline'>['entries'][number];
export type Activity = AdminRead<'/v1/activity'>;

const list = <T>(queryKey: readonly string[], page: Parameters<typeof all<T>>[0]) =>
  queryOptions({ queryKey, queryFn: () => all(page) });
const single = <T>(queryKey: readonly string[], read: () => Parameters<typeof answer<T>>[0]) =>
  queryOptions({ queryKey, queryFn: () => answer(read()) });

/** Configuration that many screens read. A change of any part makes all of it stale: see `useChange`. */
export const metricsQuery = list(['metrics'], (query) => admin.GET('/v1/metrics', { params: { query } }));
export const attributesQuery = list(['attributes'], (query) => admin.GET('/v1/attributes', { params: { query } }));
export const eventSettingsQuery = single(['event-settings'], () => admin.GET('/v1/events/settings'));
export const achievementsQuery = list(['achievements'], (query) =>
  admin.GET('/v1/achievements', { params: { query } }),
);
export const pointsQuery = list(['points'], (query) => admin.GET('/v1/points', { params: { query } }));
/** The triggers of a points system. */
export const triggersQuery = (systemId: string) =>
  queryOptions({
    queryKey: ['points', systemId, 'triggers'],
    queryFn: () =>
      all((query) => admin.GET('/v1/points/{systemId}/triggers', { params: { path: { systemId }, query } })),
  });
export const leaderboardsQuery = list(['leaderboards'], (query) =>
  admin.GET('/v1/leaderboards', { params: { query } }),
);
export const rewardsQuery = list(['rewards'], (query) => admin.GET('/v1/rewards', { params: { query } }));
export const webhooksQuery = list(['webhooks'], (query) => admin.GET('/v1/webhooks', { params: { query } }));
export const adminKeysQuery = list(['admin-keys'], (query) => admin.GET('/v1/admin-api-keys', { params: { query } }));
export const raritiesQuery = single(['rarities'], () => application.GET('/v1/achievements'));
export const organisationQuery = single(['organisation'], () => admin.GET('/v1/organisation'));
export const settingsQuery = single(['settings'], () => admin.GET('/v1/settings'));
const OPEN_JOBS_MS = 1_000;
/** Waiting and running jobs, polled until there are none. */
export const openJobsQuery = queryOptions({
  queryKey: ['jobs', 'open'],
  queryFn: async () => {
    const of = (status: 'waiting' | 'running') =>
      all((query) => admin.GET('/v1/jobs', { params: { query: { ...query, status } } }), 1_000);
    return (await Promise.all([of('waiting'), of('running')])).flat();
  },
  refetchInterval: ({ state }) => ((state.data ?? []).length > 0 ? OPEN_JOBS_MS : false),
});
/** A user's settings that administrators control. */
export const managedUserQuery = (id: string) =>
  queryOptions({
    queryKey: ['users', id, 'managed'],
    queryFn: () => answer(admin.GET('/v1/users/{id}', { params: { path: { id } } })),
  });
/** Figures of lists: those of the last 30 days, in one request per list. */
export const metricFiguresQuery = single(['metrics', 'figures'], () =>
  admin.GET('/v1/analytics/metrics', { params: { query: { days: true } } }),
);
export const leaderboardFiguresQuery = single(['leaderboards', 'figures'], () =>
  admin.GET('/v1/analytics/leaderboards'),
);

/** The last 30 days; live messages refresh it. */
export const activityQuery = queryOptions({
  queryKey: ['activity', 'days'],
  refetchInterval: 30_000,
  queryFn: () => answer(admin.GET('/v1/activity', { params: { query: {} } })),
});
