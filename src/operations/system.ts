import { ClockTime, SystemState } from '../domain/administration/system.ts';
import { AppError } from '../errors.ts';
import { operation } from './operation.ts';

export const adminSystemGet = operation('admin_system_get', 'GET /v1/system', {
  summary: 'The installation’s servers: versions, memory, shards, and the backlog of each',
  description:
    'Fields of a server that does not answer within two seconds are null. Laurel’s own metrics are in `GET /metrics`.',
  scope: 'organisation',
  responses: { 200: SystemState },
  answer: ({ system }) => system(),
});

export const adminClockGet = operation('admin_clock_get', 'GET /v1/clock', {
  summary: 'The current time of Laurel’s clock',
  scope: 'organisation',
  onlyWith: 'testClock',
  responses: { 200: ClockTime },
  answer: ({ clock }) => ({ now: new Date(clock.now()).toISOString() }),
});

/** Work due until a later date would take minutes, and years would get five digits. */
const LATEST_MS = Date.UTC(3000, 0, 1);

export const adminClockPut = operation('admin_clock_put', 'PUT /v1/clock', {
  summary: 'Stop the clock at a later time, and do all work that falls due until then',
  description:
    'Events that any process accepted before the call are stored first, so that their effects are ' +
    'reported at the time at which they happened. 503 without a worker, or while events are not stored: the clock is unchanged.',
  scope: 'organisation',
  onlyWith: 'testClock',
  body: ClockTime,
  responses: { 200: ClockTime },
  answer: async ({ testClock }, { by, body }) => {
    const nowMs = Date.parse(body.now);
    if (Number.isNaN(nowMs)) throw new AppError('unprocessable', 'now is not a time');
    if (nowMs >= LATEST_MS) throw new AppError('unprocessable', 'now must be before the year 3000');
    await testClock!.set(nowMs, by);
    return { now: new Date(nowMs).toISOString() };
  },
});

export const adminClockDelete = operation('admin_clock_delete', 'DELETE /v1/clock', {
  summary: 'Back to real time',
  scope: 'organisation',
  onlyWith: 'testClock',
  responses: { 200: ClockTime },
  answer: async ({ clock, testClock }, { by }) => {
    await testClock!.release(by);
    return { now: new Date(clock.now()).toISOString() };
  },
});
