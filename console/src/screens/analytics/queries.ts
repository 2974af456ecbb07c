import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { answer } from '../../api/answer.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';

export type AnalyticsMetric = AdminRead<'/v1/analytics/metrics/{id}'>;
export type Messages = AdminRead<'/v1/analytics/messages'>;
export type MessageEffect = AdminRead<'/v1/analytics/messages/effect'>;
export type Retention = AdminRead<'/v1/analytics/retention'>;

interface Range {
  from: string;
  to: string;
}

/** A range and a segment. */
export interface Asked extends Range {
  userAttributes?: string[];
  group?: 'control' | 'others';
}

export const segmentsQuery = queryOptions({
  queryKey: ['analytics', 'segments'],
  queryFn: () => answer(admin.GET('/v1/analytics/segments')),
});

const options = <T>(queryKey: readonly unknown[], queryFn: () => Promise<T>) =>
  queryOptions({ queryKey: ['analytics', ...queryKey], queryFn, placeholderData: keepPreviousData });

export const usersQuery = (query: Asked) =>
  options(['users', query], () => answer(admin.GET('/v1/analytics/users', { params: { query } })));
export const retentionQuery = (query: Asked) =>
  options(['retention', query], () => answer(admin.GET('/v1/analytics/retention', { params: { query } })));
export const engagementQuery = (query: Range & { metricId: string }) =>
  options(['engagement', query], () => answer(admin.GET('/v1/analytics/engagement', { params: { query } })));
export const metricsQuery = (query: Asked) =>
  options(['metrics', query], () => answer(admin.GET('/v1/analytics/metrics', { params: { query } })));
export const metricQuery = (id: string, query: Asked) =>
  options(['metric', id, query], () =>
    answer(admin.GET('/v1/analytics/metrics/{id}', { params: { path: { id }, query } })),
  );
export const achievementsQuery = (query: Asked) =>
  options(['achievements', query], () => answer(admin.GET('/v1/analytics/achievements', { params: { query } })));
export const achievementQuery = (id: string, query: Asked) =>
  options(['achievement', id, query], () =>
    answer(admin.GET('/v1/analytics/achievements/{id}', { params: { path: { id }, query } })),
  );
export const pointsQuery = (query: Asked) =>
  options(['points', query], () => answer(admin.GET('/v1/analytics/points', { params: { query } })));
export const pointsSystemQuery = (id: string, query: Asked) =>
  options(['points system', id, query], () =>
    answer(admin.GET('/v1/analytics/points/{id}', { params: { path: { id }, query } })),
  );
export const streaksQuery = (query: Asked) =>
  options(['streaks', query], () => answer(admin.GET('/v1/analytics/streaks', { params: { query } })));
export const leaderboardsQuery = (query: Range) =>
  options(['leaderboards', query], () => answer(admin.GET('/v1/analytics/leaderboards', { params: { query } })));
export const messagesQuery = (query: Range) =>
  options(['messages', query], () => answer(admin.GET('/v1/analytics/messages', { params: { query } })));
export const messageEffectQuery = (query: Range) =>
  options(['message effect', query], () => answer(admin.GET('/v1/analytics/messages/effect', { params: { query } })));
