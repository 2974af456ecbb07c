import { LiveTicket, LiveTicketRequest } from '../../domain/notifications/live.ts';
import { EVENT_STREAM, SOCKET_STREAM } from '../live-streams.ts';
import { operation } from '../operation.ts';

export const liveGet = operation({ ...EVENT_STREAM, id: 'live_get', surface: 'application' });

export const liveWs = operation({ ...SOCKET_STREAM, id: 'live_ws', surface: 'application' });

export const liveTicketsCreate = operation({
  id: 'live_tickets_create',
  surface: 'application',
  method: 'post',
  path: '/v1/live/tickets',
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
  handle: async ({ catalogs, live }, { tenant, caller, body }) => ({
    status: 201,
    body: await live.makeTicket(await catalogs.of(tenant.no), caller, body),
  }),
});
