import type { Static } from 'typebox';
import { LiveQuery, LiveTicket, LiveTicketRequest } from '../domain/notifications/live.ts';
import { AppError } from '../errors.ts';
import { type Answer, type Call, operation } from './operation.ts';
import type { Services } from '../engine/services.ts';

/** The operations that open live streams on either surface. A ticket identifies the stream. */

type StreamCall = Call<undefined, Static<typeof LiveQuery>, undefined>;

const OPENS_STREAM = {
  scope: 'public',
  refusesUnknownQuery: true,
  needsRedis: true,
  opensStream: true,
  query: LiveQuery,
} as const;

const EVENT_STREAM = {
  ...OPENS_STREAM,
  summary: 'A live stream of events and notifications, as server-sent events',
  description:
    'Opened with a ticket, whose request says what the stream reports: `boards`, `types` and the other filters are fields of ' +
    '`POST /v1/live/tickets`, and as query parameters they are 422. Each event has an ID, its type as name, and JSON with `id`, `type` and what the webhook of that ' +
    'type has. The first is `ready`, or `reset` if something was missed. If the connection breaks, the same request ' +
    'with the last ID in `Last-Event-ID` (browsers send it by themselves) or `lastEventId` goes on behind it, without a ' +
    'ticket, for five minutes.',
  responses: { 200: null },
  handle: async ({ live }: Services, { query, lastEventId, countOpening }: StreamCall): Promise<Answer> => ({
    status: 200,
    stream: await live.open({
      ticket: query.ticket,
      lastEventId: lastEventId ?? query.lastEventId ?? null,
      count: (grant) => countOpening?.(grant),
    }),
  }),
} as const;

/** Over WebSocket. Requests for one are handled in `src/http/live-connections.ts` instead. */
const SOCKET_STREAM = {
  ...OPENS_STREAM,
  summary: 'The same live stream over WebSocket',
  description:
    'The messages of `/v1/live`, each as JSON text. Other requests than those for a WebSocket are 400. To continue after the ' +
    'last ID, send it as `lastEventId`.',
  responses: { 101: null },
  handle: async (): Promise<Answer> => {
    throw new AppError('invalid', 'This path is for WebSockets: send `Upgrade: websocket`');
  },
} as const;

export const liveGet = operation('live_get', 'GET /v1/live', EVENT_STREAM);

export const liveWs = operation('live_ws', 'GET /v1/live/ws', SOCKET_STREAM);

export const liveTicketsCreate = operation('live_tickets_create', 'POST /v1/live/tickets', {
  refusesUnknownQuery: true,
  summary: 'A ticket for a live stream, valid once, for a minute',
  description:
    'With an application key the stream reports what happens to its user, and to the leaderboards named in `boards`. With ' +
    'an admin key it reports everything of the tenant that the filters let pass, and a sample of the events. What a stream ' +
    'may see is fixed by its ticket; it ends with the key.',
  keyScopes: ['read'],
  body: LiveTicketRequest,
  isBodyOptional: true,
  responses: { 201: LiveTicket },
  namedUsers: ({ body }) => (body.userId === undefined ? [] : [body.userId]),
  answer: async ({ catalogs, live }, { tenant, caller, body }) =>
    live.makeTicket(await catalogs.of(tenant.no), caller, body),
});

export const adminLiveGet = operation('admin_live_get', 'GET /v1/live', { ...EVENT_STREAM, audited: false });

export const adminLiveWs = operation('admin_live_ws', 'GET /v1/live/ws', { ...SOCKET_STREAM, audited: false });

export const adminLiveTicketsCreate = operation('admin_live_tickets_create', 'POST /v1/live/tickets', {
  summary: 'A ticket for a live stream, valid once, for a minute',
  description:
    'The stream reports everything of the tenant that the filters let pass, and a sample of the events. What it may see is ' +
    'fixed by its ticket; it ends with the key, and with the session that asked for it.',
  keyScopes: ['read'],
  body: LiveTicketRequest,
  isBodyOptional: true,
  responses: { 201: LiveTicket },
  audited: false,
  answer: async ({ catalogs, live }, { tenant, caller, body }) =>
    live.makeTicket(await catalogs.of(tenant.no), caller, body),
});
