import { MOST } from '../../../catalog/event-work.ts';
import { adminResource } from '../../resource.ts';

export const achievements = adminResource({
  kind: 'achievement',
  noun: 'achievement',
  limits: `At most ${MOST.achievement} of one metric, and ${MOST.achievement} of each other trigger but \`api\`, are active at a time.`,
  id: 'admin_achievements',
  path: '/v1/achievements',
});
