import { SOCKET_STREAM } from '../../live-streams.ts';
import { operation } from '../../operation.ts';

export const adminLiveWs = operation({ ...SOCKET_STREAM, id: 'admin_live_ws', surface: 'admin', audited: false });
