import { Type } from 'typebox';
import { Uuid } from '../../../domain/schemas.ts';
import { WebhookState } from '../../../domain/webhook-delivery.ts';
import { operation } from '../../operation.ts';
import { ownWebhook } from './own-webhook.ts';

const timeOf = (at: Date | null): string | null => at?.toISOString() ?? null;

export const adminWebhooksState = operation({
  id: 'admin_webhooks_state',
  surface: 'admin',
  method: 'get',
  path: '/v1/webhooks/{id}/state',
  summary: 'How a webhook fares: what waits for it, whether it fails, and why Laurel disabled it',
  params: Type.Object({ id: Uuid }),
  responses: { 200: WebhookState },
  handle: async ({ resources, webhookDeliveries }, { tenant, params }) => {
    const own = await ownWebhook(resources, { tenantNo: tenant.no, id: params.id });
    const state = await webhookDeliveries.state(own);
    const body = {
      ...state,
      oldest: timeOf(state.oldest),
      failingSince: timeOf(state.failingSince),
      pausedUntil: timeOf(state.pausedUntil),
      disabledAt: timeOf(state.disabledAt),
    };
    return { status: 200, body };
  },
});
