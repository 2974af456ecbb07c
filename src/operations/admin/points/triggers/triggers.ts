import { MOST } from '../../../../catalog/event-work.ts';
import { AnyIds } from '../../../../domain/admin.ts';
import { adminResource } from '../../../resource.ts';

export const triggers = adminResource({
  kind: 'points_trigger',
  noun: 'trigger',
  limits: `At most ${MOST.points_trigger} of a points system, and ${MOST.points_trigger} that count one metric, are active at a time.`,
  id: 'admin_points_triggers',
  path: '/v1/points/{systemId}/triggers',
  ids: AnyIds,
});
