import { Type } from 'typebox';
import { Uuid } from '../../../../domain/schemas.ts';
import { WebhookResend } from '../../../../domain/webhook-delivery.ts';
import { operation } from '../../../operation.ts';
import { ownWebhook } from '../own-webhook.ts';
import { resendAnswer } from './resend-answer.ts';

export const adminWebhooksResendsList = operation({
  id: 'admin_webhooks_resends_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/webhooks/{id}/resends',
  summary: 'How far resends of a webhook are: the latest 100, newest first; finished ones are kept for 30 days',
  params: Type.Object({ id: Uuid }),
  responses: { 200: Type.Array(WebhookResend) },
  handle: async ({ resources, webhookDeliveries }, { tenant, params }) => {
    const own = await ownWebhook(resources, { tenantNo: tenant.no, id: params.id });
    return { status: 200, body: (await webhookDeliveries.resends(own)).map(resendAnswer) };
  },
});
