import { Type } from 'typebox';
import { Uuid } from '../../../../domain/schemas.ts';
import { DeliveryQuery, WebhookDeliveries } from '../../../../domain/webhook-delivery.ts';
import { operation } from '../../../operation.ts';
import { ownWebhook } from '../own-webhook.ts';
import { deliveryAnswer } from './delivery-answer.ts';

export const adminWebhooksDeliveriesList = operation({
  id: 'admin_webhooks_deliveries_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/webhooks/{id}/deliveries',
  summary: 'The log of a webhook: what was sent to it or waits, newest first, without payloads',
  params: Type.Object({ id: Uuid }),
  query: DeliveryQuery,
  responses: { 200: WebhookDeliveries },
  handle: async ({ resources, webhookDeliveries }, { tenant, params, query }) => {
    const own = await ownWebhook(resources, { tenantNo: tenant.no, id: params.id });
    const { rows, nextCursor } = await webhookDeliveries.list(own, query);
    return { status: 200, body: { deliveries: rows.map(deliveryAnswer), nextCursor } };
  },
});
