import { Type } from 'typebox';
import type { Resources } from '../catalog/resources.ts';
import { AdminIssue } from '../domain/administration/admin.ts';
import { MOST_WEBHOOKS } from '../domain/catalog.ts';
import type { NotificationType } from '../domain/notifications/notification.ts';
import {
  DeliveryQuery,
  ResendRequest,
  ShownWebhookDelivery,
  WEBHOOK_EVENTS,
  WebhookDeliveries,
  WebhookDelivery,
  WebhookResend,
  WebhookState,
} from '../domain/notifications/webhook.ts';
import { Nullable, Uuid } from '../domain/schemas.ts';
import type { OwnWebhook } from '../engine/webhooks/webhook-deliveries.ts';
import { AppError } from '../errors.ts';
import { picked } from '../picked.ts';
import type { DeliveryRow, Resend, WholeDeliveryRow } from '../postgres/webhooks/deliveries.ts';
import { BULK_BODY_BYTES, bulkItems, verdict, Strict } from './bulk.ts';
import { operation } from './operation.ts';
import { adminResource, createEach, unknown } from './resource.ts';
import { isoTimeOrNull } from '../domain/periods.ts';

/** Servers that receive a tenant's notifications. The secret is not a field, because only the creation returns it. */
export const webhooks = adminResource({
  kind: 'webhook',
  noun: 'webhook',
  id: 'admin_webhooks',
  path: '/v1/webhooks',
  most: MOST_WEBHOOKS,
  // Clients may send back the answer to the creation.
  ignored: ['secret'],
  initial: { secretNo: 1 },
});

const items = bulkItems(webhooks.create, webhooks.known);
const Created = Type.Object({
  created: Type.Array(Type.Object({ ...webhooks.answer.properties, secret: Type.String() })),
  issues: Type.Array(AdminIssue),
});

export const adminWebhooksCreate = operation('admin_webhooks_create', 'POST /v1/webhooks', {
  summary: 'Create: each item is a new webhook; its secret is shown only once',
  query: Strict,
  body: items.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Created, 201: Created },
  handle: async ({ resources, webhookSecrets }, { tenant, by, query: { strict }, body }) => {
    const edit = async (good: object[]): Promise<(object | string)[]> => {
      const work = { items: good, systemId: undefined, isStrict: strict };
      return (await resources.edit(tenant.no, by, (draft) => createEach(draft, webhooks, work))).result;
    };
    const { done, issues } = await items.each(body, edit, strict);
    const made = done as { id: string }[];
    const ids = made.map(({ id }) => id);
    const secrets = await webhookSecrets(tenant.no, ids);
    const created = made.flatMap((webhook) => {
      const shown = secrets.get(webhook.id);
      return shown === undefined ? [] : [{ ...webhook, secret: shown.secret }];
    });
    const deleted = ids
      .filter((id) => !secrets.has(id))
      .map((id) => ({ id, ...verdict('error', 'The webhook was deleted meanwhile') }));
    return { status: created.length > 0 ? 201 : 200, body: { created, issues: [...issues, ...deleted] } };
  },
});

async function ownWebhook(resources: Pick<Resources, 'read'>, tenantNo: number, id: string): Promise<OwnWebhook> {
  const webhookId = id.toLowerCase();
  const webhook = (await resources.read(tenantNo)).webhooks.find((one) => one.id === webhookId);
  if (webhook === undefined) throw new AppError('not_found', unknown(webhooks));
  return { tenantNo, webhook };
}

const resendAnswer = ({ id, parameters: { status, types, fromMs, toMs }, ...job }: Resend): WebhookResend => ({
  id,
  status,
  types: types as NotificationType[] | null,
  from: isoTimeOrNull(fromMs),
  to: isoTimeOrNull(toMs),
  resent: job.done,
  total: job.total,
  requested: job.requested.toISOString(),
  finished: job.finished?.toISOString() ?? null,
});

export const adminWebhooksResend = operation('admin_webhooks_resend', 'POST /v1/webhooks/{id}/resend', {
  summary: 'Resend messages of the log: by default those that failed',
  description:
    'Those that are in the log now and fit `status`, `types` and the time at which they were made (from `from` on, before `to`) are queued ' +
    'as the webhook takes them; `GET /v1/webhooks/{id}/resends` shows how far that is.',
  params: Type.Object({ id: Uuid }),
  body: ResendRequest,
  knownFields: ResendRequest,
  responses: { 202: WebhookResend },
  answer: async ({ resources, webhookDeliveries }, { tenant, by, params, body }) => {
    const own = await ownWebhook(resources, tenant.no, params.id);
    return resendAnswer(await webhookDeliveries.resendAll(own, body, by));
  },
});

export const adminWebhooksRotateSecret = operation(
  'admin_webhooks_rotate_secret',
  'POST /v1/webhooks/{id}/rotate-secret',
  {
    summary: 'Give a webhook a new secret, shown only once; for 24 hours the previous one signs, too',
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
    answer: async ({ resources, webhookSecrets }, { tenant, by, params }) => {
      const id = params.id.toLowerCase();
      await resources.edit(tenant.no, by, (draft) => {
        const webhook = draft.get('webhook', id);
        if (webhook === undefined) throw new AppError('not_found', unknown(webhooks));
        draft.update('webhook', id, { ...webhook, secretNo: webhook.secretNo + 1 });
      });
      const shown = (await webhookSecrets(tenant.no, [id])).get(id);
      if (shown === undefined) throw new AppError('not_found', unknown(webhooks));
      const { secret, previousUntilMs } = shown;
      const previousUntil = isoTimeOrNull(previousUntilMs);
      return { id, secret, previousUntil };
    },
  },
);

const isoOfDate = (at: Date | null): string | null => at?.toISOString() ?? null;

export const adminWebhooksState = operation('admin_webhooks_state', 'GET /v1/webhooks/{id}/state', {
  summary: 'The status of a webhook: waiting messages, failures, and why Laurel disabled it',
  params: Type.Object({ id: Uuid }),
  responses: { 200: WebhookState },
  answer: async ({ resources, webhookDeliveries }, { tenant, params }) => {
    const own = await ownWebhook(resources, tenant.no, params.id);
    const state = await webhookDeliveries.state(own);
    const body = {
      ...state,
      oldest: isoOfDate(state.oldest),
      failingSince: isoOfDate(state.failingSince),
      pausedUntil: isoOfDate(state.pausedUntil),
      disabledAt: isoOfDate(state.disabledAt),
    };
    return body;
  },
});

const deliveryAnswer = (row: DeliveryRow): WebhookDelivery => ({
  id: row.id,
  type: row.type as NotificationType,
  ...picked(row, ['userId', 'sequence', 'status', 'test', 'tries', 'lastStatus', 'reason']),
  at: row.at.toISOString(),
  created: row.created.toISOString(),
  nextTry: isoTimeOrNull(row.nextTryMs),
  finished: row.finished?.toISOString() ?? null,
});

/** The same with its payload and tries. */
const shownDelivery = (row: WholeDeliveryRow): ShownWebhookDelivery => ({
  ...deliveryAnswer(row),
  payload: JSON.parse(row.payload),
  attempts: row.attempts.map(({ at, durationMs, status, error, answer }) => ({
    at: new Date(at).toISOString(),
    durationMs,
    status,
    error,
    answer,
  })),
});

const Body = Type.Object({ type: Type.Enum([...WEBHOOK_EVENTS]) });

export const adminWebhooksTest = operation('admin_webhooks_test', 'POST /v1/webhooks/{id}/test', {
  summary: 'Send a webhook the example of a type, whether it wants the type or not',
  description:
    'Apart from `test` in the log, the example is a message like any other: signed, guarded and retried. ' +
    'The answer comes after its first try, or after 5 seconds with `status` `pending`.',
  params: Type.Object({ id: Uuid }),
  body: Body,
  knownFields: Body,
  responses: { 200: ShownWebhookDelivery },
  answer: async ({ resources, testWebhook }, { tenant, by, params, body }) => {
    const own = await ownWebhook(resources, tenant.no, params.id);
    return shownDelivery(await testWebhook(own, { type: body.type, by }));
  },
});

export const adminWebhooksDeliveriesList = operation(
  'admin_webhooks_deliveries_list',
  'GET /v1/webhooks/{id}/deliveries',
  {
    summary: 'The log of a webhook: sent and waiting messages, newest first, without payloads',
    params: Type.Object({ id: Uuid }),
    query: DeliveryQuery,
    responses: { 200: WebhookDeliveries },
    answer: async ({ resources, webhookDeliveries }, { tenant, params, query }) => {
      const own = await ownWebhook(resources, tenant.no, params.id);
      const { rows, nextCursor } = await webhookDeliveries.list(own, query);
      return { deliveries: rows.map(deliveryAnswer), nextCursor };
    },
  },
);

export const adminWebhooksResendsList = operation('admin_webhooks_resends_list', 'GET /v1/webhooks/{id}/resends', {
  summary: 'The latest 100 resends of a webhook with their progress, newest first; finished ones are kept for 30 days',
  params: Type.Object({ id: Uuid }),
  responses: { 200: Type.Array(WebhookResend) },
  answer: async ({ resources, webhookDeliveries }, { tenant, params }) => {
    const own = await ownWebhook(resources, tenant.no, params.id);
    return (await webhookDeliveries.resends(own)).map(resendAnswer);
  },
});

export const adminWebhooksDeliveriesGet = operation(
  'admin_webhooks_deliveries_get',
  'GET /v1/webhooks/{id}/deliveries/{messageId}',
  {
    summary: 'A message of the log of a webhook, with its payload and every try',
    params: Type.Object({ id: Uuid, messageId: Uuid }),
    responses: { 200: ShownWebhookDelivery },
    answer: async ({ resources, webhookDeliveries }, { tenant, params: { id, messageId } }) => {
      const own = await ownWebhook(resources, tenant.no, id);
      return shownDelivery(await webhookDeliveries.get(own, messageId));
    },
  },
);

export const adminWebhooksDeliveriesResend = operation(
  'admin_webhooks_deliveries_resend',
  'POST /v1/webhooks/{id}/deliveries/{messageId}/resend',
  {
    summary: 'Resend a message of the log with the same ID, keeping its earlier tries',
    description:
      'A message that waits for its next try is sent at once. Repeating the call while it waits changes nothing.',
    params: Type.Object({ id: Uuid, messageId: Uuid }),
    responses: { 202: WebhookDelivery },
    answer: async ({ resources, webhookDeliveries }, { tenant, by, params: { id, messageId } }) => {
      const own = await ownWebhook(resources, tenant.no, id);
      return deliveryAnswer(await webhookDeliveries.resend(own, messageId, by));
    },
  },
);
