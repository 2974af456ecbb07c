import { MOST } from '../../catalog/event-work.ts';
import { boardStatus } from '../../domain/runs.ts';
import { adminResource } from '../resource.ts';

export const leaderboards = adminResource({
  kind: 'leaderboard',
  noun: 'leaderboard',
  limits: `At most ${MOST.leaderboard} that rank by one metric, by one points system or by the streak are active or scheduled at a time.`,
  id: 'admin_leaderboards',
  path: '/v1/leaderboards',
  // The clock moves a board from `scheduled` to `active` to `finished`, whatever was last set.
  computed: { schemas: {}, of: (board, { utcDay }) => ({ status: boardStatus(board, utcDay) ?? 'inactive' }) },
});
