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
  addResend,
  countSelected,
  type DeliveryRow,
  hasRoom,
  listDeliveries,
  listResends,
  markTest,
  readDelivery,
  readWebhookState,
  requeueMessage,
  requeueSome,
  type Resend,
  type WebhookStateRow,
  type WholeDeliveryRow,
} from '../../postgres/webhooks/deliveries.ts';
import { insertMessages } from '../../postgres/webhooks/messages.ts';
import { hasSecret } from '../../postgres/webhooks/secrets.ts';
import { type Page, pageOf } from '../page.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';
import { spanOf } from '../span.ts';
import { inOwnTurn } from '../../pacing/turns.ts';

/** Maximum number of unfinished resends of a webhook. */
const MOST_OPEN = 10;

interface WebhookDeliveriesOptions {
  pool: Pool;
  clock: Clock;
  /** Wakes the delivery after messages were queued. */
  onQueued: () => void;
  /** Makes workers look for jobs. */
  wake: () => Promise<void>;
}

export interface OwnWebhook {
  tenantNo: number;
  webhook: Webhook;
}

/** The log of a webhook, and resends by administrators. `by`: who asks. */
export function createWebhookDeliveries({ pool, clock, onQueued, wake }: WebhookDeliveriesOptions) {
  async function list(
    { tenantNo, webhook }: OwnWebhook,
    { limit, cursor, status, type, userId, from, to }: DeliveryQuery,
  ): Promise<Page<DeliveryRow>> {
    const rows = await listDeliveries(pool, {
      tenantNo,
      webhookId: webhook.id,
      limit: limit + 1,
      before: cursor ?? null,
      status: status ?? null,
      type: type ?? null,
      userId: userId ?? null,
      ...spanOf({ from, to }),
    });
    return pageOf(rows, limit, ({ sequence }) => String(sequence));
  }

  /** One message with its payload and tries. Throws 404 if it does not exist or has left the log. */
  async function get({ webhook }: OwnWebhook, id: string): Promise<WholeDeliveryRow> {
    const row = await readDelivery(pool, { webhookId: webhook.id, id });
    if (row === null) throw noDelivery();
    return row;
  }

  /** Queues a message again, or makes a waiting one due. Idempotent. Throws 404; 422 for a disabled webhook. */
  async function resend({ tenantNo, webhook }: OwnWebhook, id: string, by: Author): Promise<DeliveryRow> {
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
    return row ?? get({ tenantNo, webhook }, id);
  }

  /**
   * Resends all selected messages that are in the log now; by default those that failed. The first ones are queued at
   * once, the others by a job at the webhook's pace. One transaction stores the job and queues the first ones, so a
   * crash loses none. Throws 422 for a disabled webhook, or one with 10 unfinished resends; 404 for one that was deleted
   * meanwhile.
   */
  async function resendAll({ tenantNo, webhook }: OwnWebhook, request: ResendRequest, by: Author): Promise<Resend> {
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
    const resend = (await listResends(pool, tenantNo, webhook.id)).find((one) => one.id === id);
    if (resend === undefined) throw deletedMeanwhile();
    return resend;
  }

  function state({ webhook: { id, enabled } }: OwnWebhook): Promise<WebhookStateRow> {
    return readWebhookState(pool, id, enabled);
  }

  function resends({ tenantNo, webhook }: OwnWebhook): Promise<Resend[]> {
    return listResends(pool, tenantNo, webhook.id);
  }

  return { list, get, resend, resendAll, state, resends };
}

const noDelivery = (): AppError =>
  new AppError('not_found', 'There is no delivery with this ID, or it is older than the log');

const deletedMeanwhile = (): AppError => new AppError('not_found', 'The webhook was deleted meanwhile');

/** A disabled webhook gets no messages: queued ones would only wait. */
function mustBeEnabled({ enabled }: Webhook): void {
  if (!enabled) throw new AppError('unprocessable', 'The webhook is disabled: enable it first');
}

/** Number of waiting messages above which a webhook's resends wait, so that old messages do not displace new ones. */
const ROOM = 1_000;
/** Messages queued by one slice: about 30 ms of Postgres. */
const SLICE = 500;

/** Queues messages that administrators asked to resend, at the webhook's pace. */
export function createResends(pool: Pool, clock: Clock, onQueued: () => void): JobWork {
  const kinds = ['webhook_resend'] as const;
  const title = 'messages to send again';
  const waitMs = 1_000;

  async function slice(job: Resend, record: RecordSlice): Promise<void> {
    if (!(await hasRoom(pool, job.subjectId, ROOM))) return;
    await record((client) => resendSome(client, job, { nowMs: clock.now(), count: true }));
  }

  return { kinds, title, waitMs, onRecorded: onQueued, slice };
}

/** Queues the next messages of a resend. `count`: count all selected ones first, which reads the log. */
async function resendSome(
  client: PoolClient,
  { subjectId: webhookId, parameters, cursor, done, total }: Resend,
  { nowMs, count }: { nowMs: number; count: boolean },
): Promise<Progress> {
  const { lastSequence, ...selected } = parameters;
  const selection = { webhookId, ...selected };
  const stretch = { after: cursor === '' ? '0' : cursor, upTo: lastSequence };
  const isFirstCount = total === null && count;
  const selectedCount = isFirstCount ? await countSelected(client, selection, stretch) : null;
  const { queued, last } = (await hasSecret(client, webhookId))
    ? await requeueSome(client, { selection, stretch, nowMs, most: SLICE })
    : { queued: 0, last: null };
  return {
    cursor: last ?? lastSequence,
    done: queued,
    ...(selectedCount !== null && { total: done + selectedCount }),
    // Counted messages may have been dropped with their day, or have changed their state.
    ...(queued < SLICE && { total: done + queued, end: 'done', nowMs }),
  };
}

/** How long to wait for the first try; most receivers answer within this time. */
const WAIT_MS = 5_000;
const LOOK_MS = 50;

/**
 * Sends a webhook the example of a type, whether it wants the type or not. The message is logged, signed and guarded
 * like any other, but is marked as a test and is about no user. Resolves after its first try, or after 5 seconds with
 * the state so far. Throws 422 for a disabled webhook.
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
    if (row === null) throw deletedMeanwhile();
    if (row.tries > 0 || row.status !== 'pending' || performance.now() >= untilMs) return row;
    await inOwnTurn(sleep(LOOK_MS));
  }
}
