import { Type } from 'typebox';
import { Activity, RecentCompletion } from '../../domain/history.ts';
import { LocalDate } from '../../domain/schemas.ts';
import { operation } from '../operation.ts';

export const adminActivityGet = operation({
  id: 'admin_activity_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/activity',
  summary: 'What happened on each UTC day: events, active and new users, points, completed achievements',
  description:
    'By default the last 30 days up to today. Both days are included, at most 366. A day is a UTC day, by the time at which an ' +
    'event was applied. Active users are those who sent at least one event on the day; each counts once. Points are those ' +
    'awarded by all points systems together; what was taken away is not subtracted. What a user did who is deleted later stays ' +
    'counted, and so does an event that is reversed later; the reversal itself does not count as an event.',
  query: Type.Object({ from: Type.Optional(LocalDate), to: Type.Optional(LocalDate) }),
  responses: { 200: Activity },
  handle: async ({ activity }, { tenant, query }) => ({ status: 200, body: await activity.days(tenant.no, query) }),
});

export const adminActivityCompletions = operation({
  id: 'admin_activity_completions',
  surface: 'admin',
  method: 'get',
  path: '/v1/activity/completions',
  summary: 'The newest completions of achievements, newest first, about 20',
  responses: { 200: Type.Array(RecentCompletion) },
  handle: async ({ activity, catalogs }, { tenant }) => ({
    status: 200,
    body: await activity.completions(await catalogs.of(tenant.no)),
  }),
});
