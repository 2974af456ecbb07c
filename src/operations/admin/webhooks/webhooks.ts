import { Type } from 'typebox';
import { canonicalUrl } from '../../../catalog/webhook-target.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { WEBHOOK_EVENTS } from '../../../domain/webhook.ts';
import { adminResource } from '../../resource.ts';

const Fields = {
  name: Type.String({ minLength: 1, maxLength: 255 }),
  url: Type.String({ minLength: 1, maxLength: 2_048 }),
  events: Type.Array(Type.Enum([...WEBHOOK_EVENTS]), { minItems: 1, uniqueItems: true }),
  enabled: Type.Boolean(),
};

/** Where a tenant's notifications go. The secret is no part of it: it is shown when it is made. */
export const webhooks = adminResource({
  kind: 'webhook',
  noun: 'webhook',
  id: 'admin_webhooks',
  path: '/v1/webhooks',
  shape: Fields,
  required: ['name', 'url', 'events'],
  // It is shown when a webhook is made, and may come back with the rest.
  ignored: ['secret'],
  answer: Type.Object({ id: Uuid, ...Fields }),
  defaults: () => ({ enabled: true, secretNo: 1 }),
  changes: (item) => (item.url === undefined ? item : { ...item, url: canonicalUrl(item.url) ?? item.url }),
  show: ({ id, name, url, events, enabled }) => ({ id, name, url, events, enabled }),
});
