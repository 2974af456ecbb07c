import { v7 as uuid } from 'uuid';
import type { Pool } from 'pg';
import type { NewMessage } from '../../../src/domain/notifications/notification.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { insertMessages } from '../../../src/postgres/webhooks/messages.ts';

/** A message about a user, with a payload that contains its ID. */
export function message(webhookId: string, userId: string | null, fields: Partial<NewMessage> = {}): NewMessage {
  const id = uuid();
  const payload = JSON.stringify({ type: 'points.changed', id, userId });
  return { id, webhookId, tenantNo: 0, type: 'points.changed', userId, atMs: 0, payload, ...fields };
}

/** Puts messages into log and queue in one transaction. */
export const insert = (pool: Pool, messages: readonly NewMessage[], nowMs: number): Promise<void> =>
  transaction(pool, (client) => insertMessages(client, messages, nowMs));
