import type { Pool } from 'pg';
import { countSelected, requeueSome } from '../../postgres/webhooks/requeue.ts';
import { lockResend, noteResend } from '../../postgres/webhooks/resends.ts';
import { hasSecret } from '../../postgres/webhook-secrets.ts';
import { transaction } from '../../postgres/transaction.ts';

/** Messages queued by one step: some 30 ms of Postgres's time. */
const STEP = 500;

/**
 * Does a step of a resend: queues its next messages and notes how far it is, in one transaction, so that a crash repeats a
 * step or none. Whether there was one: false where it is finished, or another process works on it. A resend ends with its
 * webhook. `count`: whether all that is selected is counted first, which takes as long as the log is.
 */
export function resendStep(
  pool: Pool,
  { id, nowMs, count, most = STEP }: { id: string; nowMs: number; count: boolean; most?: number },
): Promise<boolean> {
  return transaction(pool, async (client) => {
    const resend = await lockResend(client, id);
    if (resend === null) return false;
    const { afterSequence, lastSequence, webhookId } = resend;
    const stretch = { after: afterSequence, upTo: lastSequence };
    let { total } = resend;
    if (total === null && count) total = resend.resent + (await countSelected(client, { selection: resend, stretch }));
    const deleted = !(await hasSecret(client, webhookId));
    const { queued, last } = deleted
      ? { queued: 0, last: null }
      : await requeueSome(client, { selection: resend, stretch, nowMs, most });
    const resent = resend.resent + queued;
    const isLast = queued < most;
    await noteResend(client, {
      id,
      afterSequence: last ?? lastSequence,
      resent,
      // What was counted may have gone with its day, or have changed its state.
      total: isLast ? resent : total,
      finishedMs: isLast ? nowMs : null,
    });
    return true;
  });
}
