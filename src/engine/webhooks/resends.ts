import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Progress } from '../../postgres/jobs.ts';
import { hasSecret } from '../../postgres/webhooks/secrets.ts';
import { countSelected, hasRoom, requeueSome, type Resend } from '../../postgres/webhooks/resends.ts';
import type { JobWork, RecordSlice } from '../jobs/job-runner.ts';

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
export async function resendSome(
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
