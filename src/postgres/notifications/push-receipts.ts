/** Tickets of push notifications that a provider took, until it says what became of them. */
import type { Pool } from 'pg';
import { columns } from '../columns.ts';

export interface Ticket {
  messageId: string;
  ticket: string;
  tokenHash: Buffer;
  /** Whether all devices that took the message have a ticket. */
  decides: boolean;
  sentMs: number;
}

export type DueTicket = Ticket & { userId: string };

/** Adds tickets. Those of messages that are gone meanwhile, and repeated ones, are left out. */
export async function addTickets(
  pool: Pool,
  { tenantNo, messageId, decides, sentMs }: Omit<Ticket, 'ticket' | 'tokenHash'> & { tenantNo: number },
  dueMs: number,
  tickets: readonly Pick<Ticket, 'ticket' | 'tokenHash'>[],
): Promise<void> {
  await pool.query({
    name: 'add_push_tickets',
    text: `INSERT INTO push_receipts (message_id, ticket, tenant_no, token_hash, decides, sent_ms, due_ms)
           SELECT $1, ticket, $2, token_hash, $3, $4, $5 FROM unnest($6::text[], $7::bytea[]) AS new (ticket, token_hash)
            WHERE EXISTS (SELECT FROM email_messages WHERE id = $1) ON CONFLICT DO NOTHING`,
    values: [
      messageId,
      tenantNo,
      decides,
      sentMs,
      dueMs,
      tickets.map(({ ticket }) => ticket),
      tickets.map(({ tokenHash }) => tokenHash),
    ],
  });
}

/** Tenants with tickets that are due. */
export async function tenantsWithTickets(pool: Pool, nowMs: number): Promise<number[]> {
  const { rows } = await pool.query<{ tenantNo: number }>(
    `SELECT tenant_no AS "tenantNo" FROM push_channels AS channel
      WHERE provider = 'expo'
        AND EXISTS (SELECT FROM push_receipts AS due WHERE due.tenant_no = channel.tenant_no AND due_ms <= $1)`,
    [nowMs],
  );
  return rows.map(({ tenantNo }) => tenantNo);
}

/** Takes tickets that are due, the oldest first. Until `untilMs`, no other process takes them. */
export async function takeTickets(
  pool: Pool,
  { tenantNo, nowMs, untilMs, limit }: { tenantNo: number; nowMs: number; untilMs: number; limit: number },
): Promise<DueTicket[]> {
  const { rows } = await pool.query<DueTicket>(
    `WITH taken AS (
       SELECT message_id, ticket FROM push_receipts WHERE tenant_no = $1 AND due_ms <= $2
        ORDER BY due_ms LIMIT $4 FOR UPDATE SKIP LOCKED)
     UPDATE push_receipts AS receipt SET due_ms = $3 FROM taken, email_messages AS message
      WHERE receipt.message_id = taken.message_id AND receipt.ticket = taken.ticket AND message.id = taken.message_id
     RETURNING receipt.message_id AS "messageId", receipt.ticket, token_hash AS "tokenHash", decides,
               sent_ms::float8 AS "sentMs", user_id AS "userId"`,
    [tenantNo, nowMs, untilMs, limit],
  );
  return rows;
}

const TICKET = columns<Ticket>({ messageId: 'uuid', ticket: 'text' });
const AGAIN = columns<Ticket & { dueMs: number }>({ messageId: 'uuid', ticket: 'text', dueMs: 'bigint' });

/** Deletes tickets that are no longer needed, and sets when others are due again. */
export async function settleTickets(
  pool: Pool,
  { over, again }: { over: readonly Ticket[]; again: readonly { ticket: Ticket; dueMs: number }[] },
): Promise<void> {
  if (over.length > 0)
    await pool.query(
      `DELETE FROM push_receipts AS receipt USING ${TICKET.unnest('over')}
        WHERE receipt.message_id = over.message_id AND receipt.ticket = over.ticket`,
      TICKET.arrays(over),
    );
  if (again.length > 0)
    await pool.query(
      `UPDATE push_receipts AS receipt SET due_ms = again.due_ms
         FROM ${AGAIN.unnest('again')}
        WHERE receipt.message_id = again.message_id AND receipt.ticket = again.ticket`,
      AGAIN.arrays(again.map(({ ticket, dueMs }) => ({ ...ticket, dueMs }))),
    );
}

/** Deletes a tenant's tickets that are due last, if there are more than `most`. */
export async function limitTickets(pool: Pool, tenantNo: number, most: number): Promise<void> {
  await pool.query(
    `DELETE FROM push_receipts WHERE tenant_no = $1 AND due_ms > (
       SELECT due_ms FROM push_receipts WHERE tenant_no = $1 ORDER BY due_ms OFFSET $2 LIMIT 1)`,
    [tenantNo, most],
  );
}
