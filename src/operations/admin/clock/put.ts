import { ClockTime } from '../../../domain/clock.ts';
import { AppError } from '../../../errors.ts';
import { operation } from '../../operation.ts';

export const adminClockPut = operation({
  id: 'admin_clock_put',
  surface: 'admin',
  method: 'put',
  path: '/v1/clock',
  summary: 'Let time stand still at a later moment, and do all that falls due until then',
  scope: 'organisation',
  onlyWith: 'testClock',
  body: ClockTime,
  responses: { 200: ClockTime },
  handle: async ({ testClock }, { body }) => {
    const nowMs = Date.parse(body.now);
    // A leap second is a date-time of the format, and none of a computer's.
    if (Number.isNaN(nowMs)) throw new AppError('unprocessable', 'now is not a time');
    await testClock!.set(nowMs);
    return { status: 200, body: { now: new Date(nowMs).toISOString() } };
  },
});
