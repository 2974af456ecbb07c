import { Type } from 'typebox';
import { Uuid } from '../../../domain/schemas.ts';
import { AppError } from '../../../errors.ts';
import { operation } from '../../operation.ts';
import { unknown } from '../../resource-edit.ts';
import { webhooks } from './webhooks.ts';

export const adminWebhooksRotateSecret = operation({
  id: 'admin_webhooks_rotate_secret',
  surface: 'admin',
  method: 'post',
  path: '/v1/webhooks/{id}/rotate-secret',
  summary: 'Give a webhook another secret, which is shown this once; the one before signs nothing from now on',
  params: Type.Object({ id: Uuid }),
  responses: { 200: Type.Object({ id: Uuid, secret: Type.String() }) },
  handle: async ({ resources, webhookSecrets }, { tenant, by, params }) => {
    const id = params.id.toLowerCase();
    await resources.edit(tenant.no, by, (draft) => {
      const webhook = draft.get('webhook', id);
      if (webhook === undefined) throw new AppError('not_found', unknown(webhooks));
      draft.update('webhook', id, { ...webhook, secretNo: webhook.secretNo + 1 });
    });
    return { status: 200, body: { id, secret: (await webhookSecrets(tenant.no, [id])).get(id) } };
  },
});
