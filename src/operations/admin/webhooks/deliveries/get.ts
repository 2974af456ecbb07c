import { Type } from 'typebox';
import { Uuid } from '../../../../domain/schemas.ts';
import { ShownWebhookDelivery } from '../../../../domain/webhook-delivery.ts';
import { operation } from '../../../operation.ts';
import { ownWebhook } from '../own-webhook.ts';
import { shownDelivery } from './delivery-answer.ts';

export const adminWebhooksDeliveriesGet = operation({
  id: 'admin_webhooks_deliveries_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/webhooks/{id}/deliveries/{messageId}',
  summary: 'A message of the log of a webhook, with its payload and every try',
  params: Type.Object({ id: Uuid, messageId: Uuid }),
  responses: { 200: ShownWebhookDelivery },
  handle: async ({ resources, webhookDeliveries }, { tenant, params: { id, messageId } }) => {
    const own = await ownWebhook(resources, { tenantNo: tenant.no, id });
    return { status: 200, body: shownDelivery(await webhookDeliveries.get(own, messageId)) };
  },
});
