import { Type } from 'typebox';
import { Uuid } from '../../../domain/schemas.ts';
import { ShownWebhookDelivery } from '../../../domain/webhook-delivery.ts';
import { WEBHOOK_EVENTS } from '../../../domain/webhook.ts';
import { operation } from '../../operation.ts';
import { shownDelivery } from './deliveries/delivery-answer.ts';
import { ownWebhook } from './own-webhook.ts';

const Body = Type.Object({ type: Type.Enum([...WEBHOOK_EVENTS]) });

export const adminWebhooksTest = operation({
  id: 'admin_webhooks_test',
  surface: 'admin',
  method: 'post',
  path: '/v1/webhooks/{id}/test',
  summary: 'Send a webhook the example of a type, whether it wants the type or not',
  description:
    'The example is a message like any other, but for `test` in the log: signed, guarded and tried again as they are. ' +
    'The answer comes after its first try, or after 5 seconds with `status` `pending`.',
  params: Type.Object({ id: Uuid }),
  body: Body,
  knownFields: Body,
  responses: { 200: ShownWebhookDelivery },
  handle: async ({ resources, testWebhook }, { tenant, by, params, body }) => {
    const own = await ownWebhook(resources, { tenantNo: tenant.no, id: params.id });
    return { status: 200, body: shownDelivery(await testWebhook(own, { type: body.type, by })) };
  },
});
