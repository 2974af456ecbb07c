import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { NotificationType } from '../../../../src/domain/notifications/notification.ts';
import { insertMessages } from '../../../../src/postgres/webhooks/messages.ts';
import { transaction } from '../../../../src/postgres/transaction.ts';

export interface StoredMessage {
  webhookId: string;
  type?: NotificationType;
  userId?: string | null;
  atMs: number;
}

/** Puts messages into the log and the queue like the persister, oldest first; returns their IDs. */
export async function storeMessages(pool: Pool, messages: readonly StoredMessage[]): Promise<string[]> {
  const made = messages.map(({ webhookId, type = 'points.changed', userId = null, atMs }) => ({
    id: randomUUID(),
    webhookId,
    tenantNo: 0,
    type,
    userId,
    atMs,
    payload: JSON.stringify({ type, user: { id: userId } }),
  }));
  for (const message of made) await transaction(pool, (client) => insertMessages(client, [message], message.atMs));
  return made.map(({ id }) => id);
}

/** Records a try of messages like the delivery: they have left the queue. */
export async function settleMessages(
  pool: Pool,
  ids: readonly string[],
  status: 'delivered' | 'failed',
): Promise<void> {
  const answered = status === 'delivered' ? 204 : 500;
  const error = status === 'delivered' ? null : 'answered 500';
  const tried = [{ at: Date.UTC(2026, 10, 22), durationMs: 12, status: answered, error, answer: 'Well' }];
  await pool.query('DELETE FROM webhook_queue WHERE id = ANY ($1::uuid[])', [ids]);
  await pool.query(
    `UPDATE webhook_messages SET status = $2, failed = ($2 = 'failed'), tries = tries || $3::jsonb, finished = created
      WHERE id = ANY ($1::uuid[])`,
    [ids, status, JSON.stringify(tried)],
  );
}
