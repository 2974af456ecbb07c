import type { Client } from 'pg';
import type { Received } from '../engine/webhooks/receiver.ts';

/** A message in the log. */
export interface StoredMessage {
  id: string;
  type: string;
  userId: string;
  status: string;
  sequence: number;
  payload: { achievement?: { key: string } };
}

/** The input of the webhook audit. */
export interface WebhookEvidence {
  /** Completed achievements: `<user> <key>`. */
  completions: readonly string[];
  log: readonly StoredMessage[];
  /** Messages in the order in which the receiver got them. */
  received: readonly Pick<Received, 'headers' | 'body'>[];
}

/** Reads the input, except what the receiver knows. */
export async function readWebhooks(sql: Client): Promise<Omit<WebhookEvidence, 'received'>> {
  const completions = await sql.query<{ text: string }>(
    `SELECT user_id || ' ' || (doc ->> 'key') AS text FROM completions JOIN catalog_resources
         ON catalog_resources.tenant_no = completions.tenant_no AND no = achievement_no`,
  );
  const log = await sql.query<StoredMessage>(
    `SELECT id, type, user_id AS "userId", status, sequence::float8, payload::jsonb FROM webhook_messages`,
  );
  return { completions: completions.rows.map(({ text }) => text), log: log.rows };
}

/**
 * Checks that each completion was reported once, that exactly the messages of the log arrived, and that those about one user
 * arrived in order. Returns the number of messages.
 */
export function auditWebhooks({ completions, log, received }: WebhookEvidence, differences: string[]): number {
  const reported = new Map<string, number>();
  for (const { type, userId, payload } of log) {
    if (type !== 'achievement.completed') continue;
    const what = `${userId} ${payload.achievement?.key}`;
    reported.set(what, (reported.get(what) ?? 0) + 1);
  }
  for (const what of completions) if (!reported.has(what)) differences.push(`the completion ${what} was not reported`);
  for (const [what, count] of reported) {
    if (count > 1) differences.push(`the completion ${what} was reported ${count} times`);
    if (!completions.includes(what)) differences.push(`the completion ${what} was reported, but does not exist`);
  }

  const arrived = new Set(received.map(({ headers }) => String(headers['webhook-id'])));
  const known = new Map(log.map((message) => [message.id, message]));
  for (const { id, status } of log) {
    if (!arrived.has(id)) differences.push(`the message ${id} did not arrive`);
    if (status !== 'delivered') differences.push(`the message ${id} arrived, but is ${status}`);
  }
  for (const id of arrived) if (!known.has(id)) differences.push(`the message ${id} arrived, but is not in the log`);

  const last = new Map<string, number>();
  for (const id of arrived) {
    const message = known.get(id);
    if (message === undefined) continue;
    const { userId, sequence } = message;
    if (sequence < (last.get(userId) ?? 0)) differences.push(`the message ${id} about ${userId} arrived out of order`);
    last.set(userId, sequence);
  }
  return log.length;
}
