import { LiveQuery } from '../../../domain/live.ts';
import { operation } from '../../operation.ts';

export const liveGet = operation({
  id: 'live_get',
  surface: 'application',
  method: 'get',
  path: '/v1/live',
  summary: 'A live stream of what happens, as server-sent events',
  description:
    'Opened with a ticket. Each event has an ID, its type as name, and JSON with `id`, `type` and what the webhook of that ' +
    'type has. The first is `ready`, or `reset` where something was missed. Where the connection breaks, the same request ' +
    'with the last ID in `Last-Event-ID` (browsers send it by themselves) or `lastEventId` goes on behind it, without a ' +
    'ticket, for five minutes.',
  scope: 'public',
  opensStream: true,
  query: LiveQuery,
  responses: { 200: null },
  handle: async ({ live }, { query, lastEventId }) => ({
    status: 200,
    stream: await live.open({ ticket: query.ticket, lastEventId: lastEventId ?? query.lastEventId ?? null }),
  }),
});
