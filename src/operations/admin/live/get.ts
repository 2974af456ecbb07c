import { EVENT_STREAM } from '../../live-streams.ts';
import { operation } from '../../operation.ts';

export const adminLiveGet = operation({ ...EVENT_STREAM, id: 'admin_live_get', surface: 'admin', audited: false });
