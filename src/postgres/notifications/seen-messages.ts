/** What users did with messages: opened them, followed a link, or unsubscribed. */
import type { PoolClient } from 'pg';
import { columns } from '../columns.ts';
import { countMessages } from './message-counts.ts';

/** The first time of each (epoch ms); `null`: not. */
export interface SeenTimes {
  opened: number | null;
  clicked: number | null;
  unsubscribed: number | null;
}

export interface SentMessage extends SeenTimes {
  id: string;
  tenantNo: number;
  userId: string;
  /** Packed state of the user. */
  state: Buffer;
}

/** Messages that were handed over, by ID, with their users. Nobody else changes them until the end of the transaction. */
export async function lockSent(client: PoolClient, ids: readonly string[]): Promise<Map<string, SentMessage>> {
  const { rows } = await client.query<SentMessage>(
    `SELECT message.id, message.tenant_no AS "tenantNo", user_id AS "userId", opened_ms::float8 AS opened,
            clicked_ms::float8 AS clicked, unsubscribed_ms::float8 AS unsubscribed, users.state
       FROM email_messages AS message JOIN users ON users.tenant_no = message.tenant_no AND users.id = user_id
      WHERE message.id = ANY ($1::uuid[]) AND status IN ('sending', 'sent', 'unknown')
      ORDER BY message.id FOR UPDATE OF message`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

const SEEN = columns<{ id: string } & SeenTimes>({
  id: 'uuid',
  opened: 'bigint',
  clicked: 'bigint',
  unsubscribed: 'bigint',
});

/** Records and counts times that were not known before, in the client's transaction. Lock the messages first; each occurs once. */
export async function recordSeen(client: PoolClient, seen: readonly ({ id: string } & SeenTimes)[]): Promise<void> {
  if (seen.length === 0) return;
  await client.query(
    `WITH changed AS (
       UPDATE email_messages AS message
          SET opened_ms = coalesce(message.opened_ms, seen.opened), clicked_ms = coalesce(message.clicked_ms, seen.clicked),
              unsubscribed_ms = coalesce(message.unsubscribed_ms, seen.unsubscribed)
         FROM ${SEEN.unnest('seen')}
        WHERE message.id = seen.id
       RETURNING tenant_no, kind, medium, at, opened, clicked, unsubscribed
     ), each AS (
       SELECT tenant_no, kind, medium, at, CASE WHEN ms IS NOT NULL THEN name END AS counted
         FROM changed CROSS JOIN LATERAL (
           VALUES ('opened', opened), ('clicked', clicked), ('unsubscribed', unsubscribed)) AS one (name, ms))
     ${countMessages('each')}`,
    SEEN.arrays(seen),
  );
}
