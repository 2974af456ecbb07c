import { EVENT_STREAM } from '../../live-streams.ts';
import { operation } from '../../operation.ts';

export const liveGet = operation({ ...EVENT_STREAM, id: 'live_get', surface: 'application' });
