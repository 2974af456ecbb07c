import { LiveQuery } from '../../../domain/live.ts';
import { AppError } from '../../../errors.ts';
import { operation } from '../../operation.ts';

export const adminLiveWs = operation({
  id: 'admin_live_ws',
  surface: 'admin',
  method: 'get',
  path: '/v1/live/ws',
  summary: 'The same live stream over WebSocket',
  description:
    'The messages of `/v1/live`, each a text of JSON. A request that is none for a WebSocket is 400. To go on behind the ' +
    'last ID, send it as `lastEventId`.',
  scope: 'public',
  opensStream: true,
  audited: false,
  query: LiveQuery,
  responses: { 101: null },
  // A request for a WebSocket does not come here.
  handle: async () => {
    throw new AppError('invalid', 'This path is for WebSockets: send `Upgrade: websocket`');
  },
});
