import { ClockTime } from '../../../domain/clock.ts';
import { operation } from '../../operation.ts';

export const adminClockDelete = operation({
  id: 'admin_clock_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/clock',
  summary: 'Back to real time',
  scope: 'organisation',
  onlyWith: 'testClock',
  responses: { 200: ClockTime },
  handle: async ({ clock, testClock }, { by }) => {
    await testClock!.release(by);
    return { status: 200, body: { now: new Date(clock.now()).toISOString() } };
  },
});
