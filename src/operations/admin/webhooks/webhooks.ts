import { Type } from 'typebox';
import { canonicalUrl } from '../../../catalog/webhook-target.ts';
import { MOST_WEBHOOKS, ResourceName, ResourceUrl, type WebhookFilter } from '../../../domain/catalog.ts';
import { Nullable, Uuid } from '../../../domain/schemas.ts';
import { WEBHOOK_EVENTS } from '../../../domain/webhook.ts';
import { adminResource } from '../../resource.ts';

/** More would be a list to keep, not a filter. */
const FilterIds = Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: 50 }));

const Filter = Type.Object({ metricIds: FilterIds, leaderboardIds: FilterIds, pointsSystemIds: FilterIds });

const Fields = {
  name: ResourceName,
  url: Type.String({ ...ResourceUrl, minLength: 1 }),
  events: Type.Array(Type.Enum([...WEBHOOK_EVENTS]), { minItems: 1, uniqueItems: true }),
  enabled: Type.Boolean(),
  header: Nullable(Type.String({ minLength: 1, maxLength: 64 })),
  filter: Nullable(Filter),
};

/** Where a tenant's notifications go. The secret is no part of it: it is shown when it is made. */
export const webhooks = adminResource({
  kind: 'webhook',
  noun: 'webhook',
  id: 'admin_webhooks',
  path: '/v1/webhooks',
  shape: Fields,
  required: ['name', 'url', 'events'],
  most: MOST_WEBHOOKS,
  // It is shown when a webhook is made, and may come back with the rest.
  ignored: ['secret'],
  answer: Type.Object({ id: Uuid, ...Fields }),
  defaults: () => ({ enabled: true, secretNo: 1, header: null, filter: null }),
  changes: ({ url, filter, ...item }) => ({
    ...item,
    ...(url !== undefined && { url: canonicalUrl(url) ?? url }),
    ...(filter !== undefined && { filter: storedFilter(filter) }),
  }),
  show: ({ id, name, url, events, enabled, header = null, filter = null }) => ({
    id,
    name,
    url,
    events,
    enabled,
    header,
    filter,
  }),
});

/** A filter as it is stored: IDs in lower case; one that names nothing is none. */
function storedFilter(sent: WebhookFilter | null): WebhookFilter | null {
  const lists = Object.entries(sent ?? {}).map(([list, ids]) => [list, ids.map((id) => id.toLowerCase())] as const);
  return lists.length === 0 ? null : Object.fromEntries(lists);
}
