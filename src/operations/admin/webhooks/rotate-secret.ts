import { Type } from 'typebox';
import { Nullable, Uuid } from '../../../domain/schemas.ts';
import { AppError } from '../../../errors.ts';
import { operation } from '../../operation.ts';
import { unknown } from '../../resource-edit.ts';
import { webhooks } from './webhooks.ts';

export const adminWebhooksRotateSecret = operation({
  id: 'admin_webhooks_rotate_secret',
  surface: 'admin',
  method: 'post',
  path: '/v1/webhooks/{id}/rotate-secret',
  summary: 'Give a webhook another secret, which is shown this once; the previous one signs too for 24 hours',
  description:
    'Until `previousUntil` every delivery carries the signatures of both, so that a receiver can change secrets without losing a message. ' +
    'A second rotation within that time ends the older one at once: rotate twice if a secret leaked.',
  params: Type.Object({ id: Uuid }),
  responses: {
    200: Type.Object({
      id: Uuid,
      secret: Type.String(),
      previousUntil: Nullable(Type.String({ format: 'date-time' })),
    }),
  },
  handle: async ({ resources, webhookSecrets }, { tenant, by, params }) => {
    const id = params.id.toLowerCase();
    await resources.edit(tenant.no, by, (draft) => {
      const webhook = draft.get('webhook', id);
      if (webhook === undefined) throw new AppError('not_found', unknown(webhooks));
      draft.update('webhook', id, { ...webhook, secretNo: webhook.secretNo + 1 });
    });
    const shown = (await webhookSecrets(tenant.no, [id])).get(id);
    if (shown === undefined) throw new AppError('not_found', unknown(webhooks));
    const { secret, previousUntilMs } = shown;
    const previousUntil = previousUntilMs === null ? null : new Date(previousUntilMs).toISOString();
    return { status: 200, body: { id, secret, previousUntil } };
  },
});
