import { LiveTicket, LiveTicketRequest } from '../../domain/notifications/live.ts';
import { EVENT_STREAM, SOCKET_STREAM } from '../live-streams.ts';
import { operation } from '../operation.ts';

export const adminLiveGet = operation({ ...EVENT_STREAM, id: 'admin_live_get', surface: 'admin', audited: false });

export const adminLiveWs = operation({ ...SOCKET_STREAM, id: 'admin_live_ws', surface: 'admin', audited: false });

export const adminLiveTicketsCreate = operation({
  id: 'admin_live_tickets_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/live/tickets',
  summary: 'A ticket for a live stream: good once, for a minute',
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
