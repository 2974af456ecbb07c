import { MOST_WEBHOOKS } from '../../../domain/catalog.ts';
import { adminResource } from '../../resource.ts';

/** Servers that are sent a tenant's notifications. The secret is not a field: it is shown only when it is created. */
export const webhooks = adminResource({
  kind: 'webhook',
  noun: 'webhook',
  id: 'admin_webhooks',
  path: '/v1/webhooks',
  most: MOST_WEBHOOKS,
  // Clients may send back what the creation answered.
  ignored: ['secret'],
  initial: { secretNo: 1 },
});
