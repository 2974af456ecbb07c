import { ClockTime } from '../../../domain/clock.ts';
import { operation } from '../../operation.ts';

export const adminClockGet = operation({
  id: 'admin_clock_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/clock',
  summary: 'The time as everything here sees it',
  scope: 'organisation',
  onlyWith: 'testClock',
  responses: { 200: ClockTime },
  handle: async ({ clock }) => ({ status: 200, body: { now: new Date(clock.now()).toISOString() } }),
});
