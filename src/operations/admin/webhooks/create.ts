import { Type } from 'typebox';
import { AdminIssue } from '../../../domain/admin.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { createEach } from '../../resource-edit.ts';
import { webhooks } from './webhooks.ts';

const items = bulkItems(webhooks.create, webhooks.known);
const Created = Type.Object({
  created: Type.Array(Type.Object({ ...webhooks.answer.properties, secret: Type.String() })),
  issues: Type.Array(AdminIssue),
});

export const adminWebhooksCreate = operation({
  id: 'admin_webhooks_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/webhooks',
  summary: 'Create: each item is a new webhook; its secret is shown this once',
  body: items.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Created, 201: Created },
  handle: async ({ resources, webhookSecrets }, { tenant, by, body }) => {
    const { done, issues } = await items.each(body, async (good) => {
      const work = { items: good, systemId: undefined };
      return (await resources.edit(tenant.no, by, (draft) => createEach(draft, webhooks, work))).result;
    });
    const made = done as { id: string }[];
    const ids = made.map(({ id }) => id);
    const secrets = await webhookSecrets(tenant.no, ids);
    const created = made.map((webhook) => ({ ...webhook, secret: secrets.get(webhook.id)?.secret }));
    return { status: done.length > 0 ? 201 : 200, body: { created, issues } };
  },
});
