import { Type } from 'typebox';
import { Uuid } from '../../../../domain/schemas.ts';
import { WebhookDelivery } from '../../../../domain/webhook-delivery.ts';
import { operation } from '../../../operation.ts';
import { ownWebhook } from '../own-webhook.ts';
import { deliveryAnswer } from './delivery-answer.ts';

export const adminWebhooksDeliveriesResend = operation({
  id: 'admin_webhooks_deliveries_resend',
  surface: 'admin',
  method: 'post',
  path: '/v1/webhooks/{id}/deliveries/{messageId}/resend',
  summary: 'Send a message of the log again, under the same ID, with all tries before it',
  description: 'One that waits for its next try is tried at once. While it waits, asking again changes nothing.',
  params: Type.Object({ id: Uuid, messageId: Uuid }),
  responses: { 202: WebhookDelivery },
  handle: async ({ resources, webhookDeliveries }, { tenant, by, params: { id, messageId } }) => {
    const own = await ownWebhook(resources, { tenantNo: tenant.no, id });
    return { status: 202, body: deliveryAnswer(await webhookDeliveries.resend(own, messageId, by)) };
  },
});
