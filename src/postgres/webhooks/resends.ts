import type { Pool, PoolClient } from 'pg';
import { addJob, deleteOldJobs, latestJobs, type Job } from '../jobs.ts';
import type { MessageSelection } from './requeue.ts';

/** A job that resends messages of its subject, a webhook. Its cursor is the sequence of the last message queued. */
export type Resend = Job<Omit<MessageSelection, 'webhookId'> & { lastSequence: string }> & { subjectId: string };

/** How long finished resends are shown. */
const SHOWN_DAYS = 30;

/** Adds a job that resends messages now in the log. `nowMs`: Laurel's time. */
export async function addResend(
  client: PoolClient,
  {
    tenantNo,
    selection: { webhookId, ...selection },
    requestedBy,
    nowMs,
  }: { tenantNo: number; selection: MessageSelection; requestedBy: string; nowMs: number },
): Promise<Resend> {
  await deleteOldJobs(client, { kind: 'webhook_resend', days: SHOWN_DAYS, nowMs });
  const { rows } = await client.query<{ lastSequence: string }>(
    'SELECT last_value::text AS "lastSequence" FROM webhook_sequences',
  );
  const parameters = { ...selection, ...rows[0]! };
  const job = { kind: 'webhook_resend', tenantNo, subjectId: webhookId, parameters, requestedBy, nowMs } as const;
  return (await addJob(client, job)) as Resend;
}

/** A webhook's latest resends, newest first. */
export const listResends = (pool: Pool, tenantNo: number, webhookId: string): Promise<Resend[]> =>
  latestJobs(pool, { kind: 'webhook_resend', tenantNo, subjectId: webhookId });

export async function hasRoom(pool: Pool, webhookId: string, room: number): Promise<boolean> {
  const { rows } = await pool.query<{ waiting: number }>(
    'SELECT count(*)::int AS waiting FROM (SELECT FROM webhook_queue WHERE webhook_id = $1 LIMIT $2) AS first',
    [webhookId, room],
  );
  return rows[0]!.waiting < room;
}
