import { Type } from 'typebox';
import { Uuid } from '../../../domain/schemas.ts';
import { ResendRequest, WebhookResend } from '../../../domain/webhook-delivery.ts';
import { operation } from '../../operation.ts';
import { ownWebhook } from './own-webhook.ts';
import { resendAnswer } from './resends/resend-answer.ts';

export const adminWebhooksResend = operation({
  id: 'admin_webhooks_resend',
  surface: 'admin',
  method: 'post',
  path: '/v1/webhooks/{id}/resend',
  summary: 'Send messages of the log again: those that failed, unless `status` says otherwise',
  description:
    'Those that are in the log now and fit `status`, `types` and the time at which they were made (from `from` on, before `to`) are queued ' +
    'as the webhook takes them; `GET /v1/webhooks/{id}/resends` shows how far that is.',
  params: Type.Object({ id: Uuid }),
  body: ResendRequest,
  knownFields: ResendRequest,
  responses: { 202: WebhookResend },
  handle: async ({ resources, webhookDeliveries }, { tenant, by, params, body }) => {
    const own = await ownWebhook(resources, { tenantNo: tenant.no, id: params.id });
    return { status: 202, body: resendAnswer(await webhookDeliveries.resendAll(own, body, by)) };
  },
});
