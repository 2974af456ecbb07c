/** Deliveries as an administrator sees them: list, details, resends and tests. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { Webhook } from '../../domain/catalog.ts';
import { NOTIFICATION_EXAMPLES } from '../../domain/notifications/examples.ts';
import type { NotificationType } from '../../domain/notifications/notification.ts';
import type { DeliveryQuery, ResendRequest } from '../../domain/notifications/webhook.ts';
import { AppError } from '../../errors.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import { openJobs, type Progress, recordProgress } from '../../postgres/jobs.ts';
import { transaction } from '../../postgres/transaction.ts';
import {
  type DeliveryRow,
  listDeliveries,
  markTest,
  readDelivery,
  readWebhookState,
  type WebhookStateRow,
  type WholeDeliveryRow,
} from '../../postgres/webhooks/deliveries.ts';
import { insertMessages } from '../../postgres/webhooks/messages.ts';
import {
  addResend,
  countSelected,
  hasRoom,
  listResends,
  requeueMessage,
  requeueSome,
  type Resend,
} from '../../postgres/webhooks/resends.ts';
import { hasSecret } from '../../postgres/webhooks/secrets.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';
import { spanOf } from '../span.ts';

/** Most resends of a webhook that may be unfinished. */
const MOST_OPEN = 10;

interface WebhookDeliveriesOptions {
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
function mustBeEnabled({ enabled }: Webhook): void {
  if (!enabled) throw new AppError('unprocessable', 'The webhook is disabled: enable it first');
}

/** So many messages may wait for a webhook before its resends wait: what is new is not to be refused for what is old. */
const ROOM = 1_000;
/** Messages queued by one slice: some 30 ms of Postgres's time. */
const SLICE = 500;

/** Queues the messages that administrators asked to resend, some at a time, as the webhook takes them. */
export class Resends implements JobWork<Resend> {
  readonly kinds = ['webhook_resend'] as const;
  readonly title = 'messages to send again';
  readonly waitMs = 1_000;
  /** Wakes the delivery. */
  readonly onRecorded: () => void;
  private readonly pool: Pool;
  private readonly clock: Clock;

  constructor({ pool, clock, onQueued }: { pool: Pool; clock: Clock; onQueued: () => void }) {
    this.pool = pool;
    this.clock = clock;
    this.onRecorded = onQueued;
  }

  async slice(job: Resend, record: RecordSlice): Promise<void> {
    if (!(await hasRoom(this.pool, job.subjectId, ROOM))) return;
    await record((client) => resendSome(client, job, { nowMs: this.clock.now(), count: true }));
  }
}

/**
 * Queues the next messages of a resend, in the transaction that records it. A resend ends with its webhook. `count`: whether all that
 * is selected is counted first, which takes as long as the log is.
 */
async function resendSome(
  client: PoolClient,
  { subjectId: webhookId, parameters, cursor, done, total }: Resend,
  { nowMs, count }: { nowMs: number; count: boolean },
): Promise<Progress> {
  const { lastSequence, ...selected } = parameters;
  const selection = { webhookId, ...selected };
  const stretch = { after: cursor === '' ? '0' : cursor, upTo: lastSequence };
  const isFirstCount = total === null && count;
  const left = isFirstCount ? await countSelected(client, { selection, stretch }) : null;
  const { queued, last } = (await hasSecret(client, webhookId))
    ? await requeueSome(client, { selection, stretch, nowMs, most: SLICE })
    : { queued: 0, last: null };
  return {
    cursor: last ?? lastSequence,
    done: queued,
    ...(left !== null && { total: done + left }),
    // What was counted may have gone with its day, or have changed its state.
    ...(queued < SLICE && { total: done + queued, end: 'done', nowMs }),
  };
}

/** How long an answer waits for the first try: most receivers have answered by then. */
const WAIT_MS = 5_000;
const LOOK_MS = 50;

/**
 * Sends a webhook the example of a type, whether it wants the type or not: a message in its log like any other, signed and
 * guarded as any other, but marked as a test and about no user. Resolves with it after its first try, or after 5 seconds with
 * what is known then. 422 for a webhook that is disabled.
 */
export async function sendTest(
  { pool, clock, onQueued }: WebhookDeliveriesOptions,
  { tenantNo, webhook }: OwnWebhook,
  { type, by, waitMs = WAIT_MS }: { type: NotificationType; by: Author; waitMs?: number },
): Promise<WholeDeliveryRow> {
  mustBeEnabled(webhook);
  const nowMs = clock.now();
  const message = {
    id: uuid(),
    webhookId: webhook.id,
    tenantNo,
    type,
    userId: null,
    atMs: nowMs,
    payload: JSON.stringify(NOTIFICATION_EXAMPLES[type]),
  };
  await transaction(pool, async (client) => {
    await insertMessages(client, [message], nowMs);
    await markTest(client, message.id);
    const entries = [{ action: 'test', kind: 'webhook', id: webhook.id, name: webhook.name, after: { type } } as const];
    await writeAudit(client, { tenantNo, nowMs, by, entries });
  });
  onQueued();
  const untilMs = performance.now() + waitMs;
  for (;;) {
    const row = await readDelivery(pool, { webhookId: webhook.id, id: message.id });
    if (row === null) throw new AppError('not_found', 'The webhook was deleted meanwhile');
    if (row.tries > 0 || row.status !== 'pending' || performance.now() >= untilMs) return row;
    await sleep(LOOK_MS);
  }
}
