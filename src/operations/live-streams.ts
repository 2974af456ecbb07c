import type { Static } from 'typebox';
import { LiveQuery } from '../domain/notifications/live.ts';
import { AppError } from '../errors.ts';
import type { Answer, Call } from './operation.ts';
import type { Services } from './services.ts';

/** The operations that open live streams on either surface. A ticket identifies the stream. */

type StreamCall = Call<undefined, Static<typeof LiveQuery>, undefined>;

const OPENS_STREAM = { method: 'get', scope: 'public', opensStream: true, query: LiveQuery } as const;

export const EVENT_STREAM = {
  ...OPENS_STREAM,
  path: '/v1/live',
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
export const SOCKET_STREAM = {
  ...OPENS_STREAM,
  path: '/v1/live/ws',
  summary: 'The same live stream over WebSocket',
  description:
    'The messages of `/v1/live`, each as JSON text. Other requests than those for a WebSocket are 400. To continue after the ' +
    'last ID, send it as `lastEventId`.',
  responses: { 101: null },
  handle: async (): Promise<Answer> => {
    throw new AppError('invalid', 'This path is for WebSockets: send `Upgrade: websocket`');
  },
} as const;
