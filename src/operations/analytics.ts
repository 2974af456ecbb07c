import { Type } from 'typebox';
import {
  AnalyticsAchievement,
  AnalyticsAchievements,
  AnalyticsEngagement,
  AnalyticsLeaderboards,
  AnalyticsMessageEffect,
  AnalyticsMessages,
  AnalyticsMetric,
  AnalyticsMetrics,
  AnalyticsPoints,
  AnalyticsPointsSystem,
  AnalyticsRetention,
  AnalyticsSegments,
  AnalyticsStreaks,
  AnalyticsUsers,
} from '../domain/analytics-responses.ts';
import { Activity, RecentCompletion } from '../domain/history.ts';
import { LocalDate, Uuid } from '../domain/schemas.ts';
import { AttributeFilter } from '../domain/user.ts';
import { jsonInSlices } from '../pacing/slices.ts';
import { operation } from './operation.ts';

const Range = { from: Type.Optional(LocalDate), to: Type.Optional(LocalDate) };
const Query = Type.Object({
  ...Range,
  userAttributes: Type.Optional(AttributeFilter),
  group: Type.Optional(Type.Enum(['control', 'others'])),
});
const ById = Type.Object({ id: Uuid });

const RANGE =
  'By default the last 30 days up to today. Both days are included, at most 366. Each figure is compared with that of the period of the same ' +
  'length before.';
const SEGMENTS =
  '`userAttributes` (one pair, such as `plan:pro`) and `group` select a segment: users count in the segment that they are in when they do something. ' +
  'See `GET /v1/analytics/segments`.';

export const adminAnalyticsSegments = operation('admin_analytics_segments', 'GET /v1/analytics/segments', {
  summary: 'Values of user attributes that analytics count separately',
  description:
    'The first 50 values of an attribute are counted separately, each from the first user on who has it. A user introduces at most one value of an ' +
    'attribute: another one is counted once a user has it who introduced none.',
  responses: { 200: AnalyticsSegments },
  answer: async ({ analytics, catalogs }, { tenant }) => analytics.segments(await catalogs.of(tenant.no)),
});

export const adminAnalyticsUsers = operation('admin_analytics_users', 'GET /v1/analytics/users', {
  summary: 'Active users by day, week and month, and new users',
  description: `${RANGE} ${SEGMENTS} Days are UTC days by the time at which an event was applied; weeks begin on Monday. Weeks and months are whole, also where the range begins or ends inside.`,
  query: Query,
  responses: { 200: AnalyticsUsers },
  answer: async ({ analytics, catalogs }, { tenant, query }) => analytics.users(await catalogs.of(tenant.no), query),
});

export const adminAnalyticsMetrics = operation('admin_analytics_metrics', 'GET /v1/analytics/metrics', {
  summary: 'Events and the sum of their values, by metric',
  description: `${RANGE} ${SEGMENTS} Days are the users' local days. Late events count on the day on which they happened, and reversed events not at all. With \`days=true\` each metric has the number of its events on each day of the range, which then has at most 31.`,
  query: Type.Object({ ...Query.properties, days: Type.Boolean({ default: false }) }),
  responses: { 200: AnalyticsMetrics },
  answer: async ({ analytics, catalogs }, { tenant, query }) => analytics.metrics(await catalogs.of(tenant.no), query),
});

export const adminAnalyticsMetric = operation('admin_analytics_metric', 'GET /v1/analytics/metrics/{id}', {
  summary: 'A metric by day, per active user, by the size of values and by event attributes',
  description: `${RANGE} ${SEGMENTS} Sizes are of all users. Attributes are those of the metric's events among the newest 20,000 events of the range, of all metrics and tenants.`,
  params: ById,
  query: Query,
  responses: { 200: AnalyticsMetric },
  answer: async ({ analytics, catalogs }, { tenant, params, query }) =>
    analytics.metric(await catalogs.of(tenant.no), params.id, query),
});

export const adminAnalyticsEngagement = operation('admin_analytics_engagement', 'GET /v1/analytics/engagement', {
  summary: 'The value of a metric per active user: the control group compared with the others',
  description:
    'By default the last 30 days up to today. Both days are included, at most 366. Active users are those with an event in the range. Up to 1,500 users ' +
    'are looked at, chosen by a hash of their IDs: the figures are exact for tenants with no more. The interval covers the true difference in 95 of 100 samples.',
  query: Type.Object({ ...Range, metricId: Uuid }),
  responses: { 200: AnalyticsEngagement },
  answer: async ({ groupComparison, catalogs }, { tenant, query }) =>
    groupComparison.engagement(await catalogs.of(tenant.no), query),
});

export const adminAnalyticsRetention = operation('admin_analytics_retention', 'GET /v1/analytics/retention', {
  summary: 'Retention by weekly cohort, and a segment compared with all other users',
  description:
    'Cohorts are the users who were first seen in a week that the range touches, by default the last 30 days up to today. A user is retained in a week ' +
    'with at least one event. `returned` sums up all cohorts: who was active exactly 1, 7 and 30 UTC days after the first one. `userAttributes` selects the users who had the value when they were first seen, and `group` a group. ' +
    'The segment, by default the control group, is compared with all others over the cohorts that have users in both, in the weeks that are over. The ' +
    'interval covers the true difference in 95 of 100 samples. After a change of the control share, compare only cohorts that began later.',
  query: Query,
  responses: { 200: AnalyticsRetention },
  answer: async ({ groupComparison, catalogs }, { tenant, query }) =>
    groupComparison.retention(await catalogs.of(tenant.no), query),
});

export const adminAnalyticsAchievements = operation('admin_analytics_achievements', 'GET /v1/analytics/achievements', {
  summary: 'Completed achievements by day, with the time that half of the users needed',
  description: `${RANGE} ${SEGMENTS} Days are UTC days. A completion that was revoked does not count. Holders and median times are of all users; the median is within 6 %, and of whole weeks.`,
  query: Query,
  responses: { 200: AnalyticsAchievements },
  answer: async ({ analytics, catalogs }, { tenant, query }) =>
    analytics.achievements(await catalogs.of(tenant.no), query),
});

export const adminAnalyticsAchievement = operation(
  'admin_analytics_achievement',
  'GET /v1/analytics/achievements/{id}',
  {
    summary: 'An achievement by day, by the time to complete it, and how far the other users are',
    description: `${RANGE} ${SEGMENTS} Up to 1,000 users, chosen by a hash of their IDs, are looked at for how far they are.`,
    params: ById,
    query: Query,
    responses: { 200: AnalyticsAchievement },
    answer: async ({ analytics, catalogs }, { tenant, params, query }) =>
      analytics.achievement(await catalogs.of(tenant.no), params.id, query),
  },
);

export const adminAnalyticsPoints = operation('admin_analytics_points', 'GET /v1/analytics/points', {
  summary: 'Points awarded and taken, by points system',
  description: `${RANGE} ${SEGMENTS} Days are the users' local days. What a reversal or recomputation takes back is taken on the day of the award.`,
  query: Query,
  responses: { 200: AnalyticsPoints },
  answer: async ({ analytics, catalogs }, { tenant, query }) => analytics.points(await catalogs.of(tenant.no), query),
});

export const adminAnalyticsPointsSystem = operation('admin_analytics_points_system', 'GET /v1/analytics/points/{id}', {
  summary: 'A points system by day and trigger, and how many users hold how many points',
  description: `${RANGE} ${SEGMENTS} Levels are of all users, and left out for a segment of an attribute; the ranges of points are of its users.`,
  params: ById,
  query: Query,
  responses: { 200: AnalyticsPointsSystem },
  answer: async ({ analytics, catalogs }, { tenant, params, query }) =>
    analytics.pointsSystem(await catalogs.of(tenant.no), params.id, query),
});

export const adminAnalyticsStreaks = operation('admin_analytics_streaks', 'GET /v1/analytics/streaks', {
  summary: 'Streaks extended, lost and frozen by day, and how long streaks are',
  description: `${RANGE} ${SEGMENTS} Extensions count on the users' local days, losses and freezes on the UTC day on which they were noticed. Up to 1,000 users, chosen by a hash of their IDs, are looked at for the lengths.`,
  query: Query,
  responses: { 200: AnalyticsStreaks },
  answer: async ({ analytics, catalogs }, { tenant, query }) => analytics.streaks(await catalogs.of(tenant.no), query),
});

export const adminAnalyticsLeaderboards = operation('admin_analytics_leaderboards', 'GET /v1/analytics/leaderboards', {
  summary: 'Participants and scores of the active leaderboards, in their current runs, and how places changed by day',
  description: `${RANGE} Places are those at the end of each UTC day, compared with the end of the day before in the same run; today is counted tomorrow.`,
  query: Type.Object(Range),
  responses: { 200: AnalyticsLeaderboards },
  handle: async ({ analytics, catalogs }, { tenant, query }) => {
    const figures = await analytics.leaderboards(await catalogs.of(tenant.no), query);
    return { status: 200, json: await jsonInSlices(figures, 2) };
  },
});

export const adminAnalyticsMessages = operation('admin_analytics_messages', 'GET /v1/analytics/messages', {
  summary: 'E-mails and push notifications by kind, medium and day: sent, delivered, opened, clicked and more',
  description: `${RANGE} A message counts on the UTC day on which it fell due, once under each that applies to it, also after it left the log. Opens and clicks are counted only while the tenant records them (\`trackOpens\`, \`trackClicks\`). Days without messages are left out.`,
  query: Type.Object(Range),
  responses: { 200: AnalyticsMessages },
  answer: async ({ analytics, catalogs }, { tenant, query }) => analytics.messages(await catalogs.of(tenant.no), query),
});

export const adminAnalyticsMessagesEffect = operation(
  'admin_analytics_messages_effect',
  'GET /v1/analytics/messages/effect',
  {
    summary: 'Whether users return more often because of messages: against the control group, by kind',
    description:
      'By default the last 30 days up to today. Both days are included, at most 366, but only as far back as the log of messages (`MESSAGE_LOG_DAYS`) and ' +
      'single events are kept. Counts users by the first message of the kind that fell due in the range, sent or not, and users of the control group by the ' +
      'first one that was withheld. A user returned with an event within so many times 24 hours after it; only users for whom that time is over count. At ' +
      'most 20,000 users of each kind and group are looked at, chosen by a hash of their IDs (`isSampled`). The interval covers the true difference in 95 of 100 samples.',
    query: Type.Object(Range),
    responses: { 200: AnalyticsMessageEffect },
    answer: async ({ analytics, catalogs }, { tenant, query }) =>
      analytics.messageEffect(await catalogs.of(tenant.no), query),
  },
);

export const adminActivityGet = operation('admin_activity_get', 'GET /v1/activity', {
  summary: 'Activity on each day: events, active and new users, points by system, completed achievements',
  description:
    'By default the last 30 days up to today. Both days are included, at most 366. `events` and `awarded` count as in `/v1/analytics`: on the local ' +
    'day of the user on which the event happened, without reversed events. Active users are those with an event that happened on the UTC day. ' +
    'Everything else counts on the UTC day on which Laurel applied it: `eventsReceived` shows late events on the day on which they arrived. ' +
    'Deductions are not subtracted from points. The activity of a user who is deleted later stays counted.',
  query: Type.Object({ from: Type.Optional(LocalDate), to: Type.Optional(LocalDate) }),
  responses: { 200: Activity },
  answer: async ({ activity, catalogs }, { tenant, query }) => activity.days(await catalogs.of(tenant.no), query),
});

export const adminActivityCompletions = operation('admin_activity_completions', 'GET /v1/activity/completions', {
  summary: 'The latest completions of achievements, newest first, about 20',
  responses: { 200: Type.Array(RecentCompletion) },
  answer: async ({ activity, catalogs }, { tenant }) => activity.completions(await catalogs.of(tenant.no)),
});
