import { SOCKET_STREAM } from '../../live-streams.ts';
import { operation } from '../../operation.ts';

export const liveWs = operation({ ...SOCKET_STREAM, id: 'live_ws', surface: 'application' });
