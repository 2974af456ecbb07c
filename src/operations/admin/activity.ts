import { Type } from 'typebox';
import { Activity, RecentCompletion } from '../../domain/history.ts';
import { LiveTicket, LiveTicketRequest } from '../../domain/notifications/live.ts';
import { LocalDate } from '../../domain/schemas.ts';
import { EVENT_STREAM, SOCKET_STREAM } from '../live-streams.ts';
import { operation } from '../operation.ts';

export const adminActivityGet = operation({
  id: 'admin_activity_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/activity',
  summary: 'Activity on each UTC day: events, active and new users, points, completed achievements',
  description:
    'By default the last 30 days up to today. Both days are included, at most 366. A day is a UTC day, by the time at which an ' +
    'event was applied. Active users are those who sent at least one event on the day; each counts once. Points are those ' +
    'awarded by all points systems together; deductions are not subtracted. The activity of a user who is deleted later stays ' +
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
  summary: 'The latest completions of achievements, newest first, about 20',
  responses: { 200: Type.Array(RecentCompletion) },
  handle: async ({ activity, catalogs }, { tenant }) => ({
    status: 200,
    body: await activity.completions(await catalogs.of(tenant.no)),
  }),
});

export const adminLiveGet = operation({ ...EVENT_STREAM, id: 'admin_live_get', surface: 'admin', audited: false });

export const adminLiveWs = operation({ ...SOCKET_STREAM, id: 'admin_live_ws', surface: 'admin', audited: false });

export const adminLiveTicketsCreate = operation({
  id: 'admin_live_tickets_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/live/tickets',
  summary: 'A ticket for a live stream, valid once, for a minute',
  description:
    'The stream reports everything of the tenant that the filters let pass, and a sample of the events. What it may see is ' +
    'fixed by its ticket; it ends with the key, and with the session that asked for it.',
  keyScopes: ['read'],
  body: LiveTicketRequest,
  isBodyOptional: true,
  responses: { 201: LiveTicket },
  audited: false,
  handle: async ({ catalogs, live }, { tenant, caller, body }) => ({
    status: 201,
    body: await live.makeTicket(await catalogs.of(tenant.no), caller, body),
  }),
});
