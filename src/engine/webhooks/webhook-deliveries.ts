import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/author.ts';
import type { Webhook } from '../../domain/catalog.ts';
import type { DeliveryQuery, ResendRequest } from '../../domain/webhook-delivery.ts';
import { AppError } from '../../errors.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import { transaction } from '../../postgres/transaction.ts';
import {
  type DeliveryRow,
  listDeliveries,
  readDelivery,
  readWebhookState,
  type WebhookStateRow,
  type WholeDeliveryRow,
} from '../../postgres/webhooks/deliveries.ts';
import { addResend, listResends, requeueMessage, type Resend } from '../../postgres/webhooks/resends.ts';
import { openJobs, recordProgress } from '../../postgres/jobs.ts';
import { spanOf } from '../span.ts';
import { resendSome } from './resends.ts';

/** Most resends of a webhook that may be unfinished. */
const MOST_OPEN = 10;

export interface WebhookDeliveriesOptions {
  pool: Pool;
  clock: Clock;
  /** Wakes the delivery: something was queued. */
  onQueued: () => void;
  /** Has workers look for jobs. */
  wake: () => Promise<void>;
}

/** A webhook of a tenant. */
export interface OwnWebhook {
  tenantNo: number;
  webhook: Webhook;
}

/** The log of a webhook, and what administrators have sent again of it. `by`: who asks for it. */
export class WebhookDeliveries {
  private readonly options: WebhookDeliveriesOptions;

  constructor(options: WebhookDeliveriesOptions) {
    this.options = options;
  }

  /** Some messages of the log, newest first, and the cursor to those after them; null: there are none. */
  async list(
    { tenantNo, webhook }: OwnWebhook,
    { limit, cursor, status, type, userId, from, to }: DeliveryQuery,
  ): Promise<{ rows: DeliveryRow[]; nextCursor: string | null }> {
    const rows = await listDeliveries(this.options.pool, {
      tenantNo,
      webhookId: webhook.id,
      limit: limit + 1,
      before: cursor ?? null,
      status: status ?? null,
      type: type ?? null,
      userId: userId ?? null,
      ...spanOf({ from, to }),
    });
    const page = rows.slice(0, limit);
    return { rows: page, nextCursor: rows.length > limit ? String(page.at(-1)!.sequence) : null };
  }

  /** One message, with its payload and every try. 404: there is none, or the days of the log are over. */
  async get({ webhook }: OwnWebhook, id: string): Promise<WholeDeliveryRow> {
    const row = await readDelivery(this.options.pool, { webhookId: webhook.id, id });
    if (row === null) throw noDelivery();
    return row;
  }

  /**
   * Queues a message again, under its ID and with all its tries before it; one that waits for its next try is due at once.
   * Idempotent while it waits. 404; 422 for a webhook that is disabled.
   */
  async resend({ tenantNo, webhook }: OwnWebhook, id: string, by: Author): Promise<DeliveryRow> {
    const { pool, clock, onQueued } = this.options;
    mustBeEnabled(webhook);
    const nowMs = clock.now();
    const row = await transaction(pool, async (client) => {
      const before = await readDelivery(client, { webhookId: webhook.id, id });
      if (before === null) throw noDelivery();
      const { sequence, type, userId } = before;
      await requeueMessage(client, { webhookId: webhook.id, id, sequence, nowMs });
      const entry = { action: 'resend', kind: 'webhook', id: webhook.id, name: webhook.name } as const;
      const entries = [{ ...entry, ...(userId !== null && { userId }), after: { delivery: id, type } }];
      await writeAudit(client, { tenantNo, nowMs, by, entries });
      return readDelivery(client, { webhookId: webhook.id, id });
    });
    onQueued();
    return row ?? this.get({ tenantNo, webhook }, id);
  }

  /**
   * Has all messages sent again that are in the log now and are selected: those that failed, unless it says otherwise. The
   * first are queued at once, the others by a job, as the webhook takes them. One transaction stores the job and queues the first, so
   * that no crash loses any. 422 for a webhook that is disabled, or has 10 unfinished resends.
   */
  async resendAll({ tenantNo, webhook }: OwnWebhook, request: ResendRequest, by: Author): Promise<Resend> {
    const { pool, clock, onQueued, wake } = this.options;
    mustBeEnabled(webhook);
    const nowMs = clock.now();
    const { status = 'failed', types = null, from, to } = request;
    const selection = { webhookId: webhook.id, status, types, ...spanOf({ from, to }) };
    const id = await transaction(pool, async (client) => {
      if ((await openJobs(client, { kind: 'webhook_resend', subjectId: webhook.id })) >= MOST_OPEN)
        throw new AppError(
          'unprocessable',
          `The webhook has ${MOST_OPEN} resends that are not finished: wait for them`,
        );
      const job = await addResend(client, { tenantNo, selection, requestedBy: by.who, nowMs });
      const entry = { action: 'resend', kind: 'webhook', id: webhook.id, name: webhook.name } as const;
      await writeAudit(client, { tenantNo, nowMs, by, entries: [{ ...entry, after: { status, types, from, to } }] });
      const progress = await resendSome(client, job, { nowMs, count: false });
      await recordProgress(client, job, { ...progress, restMs: 0 });
      return job.id;
    });
    onQueued();
    await wake();
    return (await listResends(pool, tenantNo, webhook.id)).find((resend) => resend.id === id)!;
  }

  /** How a webhook fares. */
  state({ webhook: { id, enabled } }: OwnWebhook): Promise<WebhookStateRow> {
    return readWebhookState(this.options.pool, { webhookId: id, enabled });
  }

  /** The latest resends of a webhook, newest first, and how far they are. */
  resends({ tenantNo, webhook }: OwnWebhook): Promise<Resend[]> {
    return listResends(this.options.pool, tenantNo, webhook.id);
  }
}

const noDelivery = (): AppError =>
  new AppError('not_found', 'There is no delivery with this ID, or it is older than the log');

/** Nothing is sent to a webhook that is disabled: what was queued would only wait. */
export function mustBeEnabled({ enabled }: Webhook): void {
  if (!enabled) throw new AppError('unprocessable', 'The webhook is disabled: enable it first');
}
