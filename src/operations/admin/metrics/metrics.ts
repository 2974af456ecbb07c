import { adminResource } from '../../resource.ts';

export const metrics = adminResource({
  kind: 'metric',
  noun: 'metric',
  id: 'admin_metrics',
  path: '/v1/metrics',
});
