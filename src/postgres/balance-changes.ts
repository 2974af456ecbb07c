import type { Pool, PoolClient } from 'pg';
import { columns } from './columns.ts';
import { BALANCE } from '../packed/record-fields.ts';
import { storableText } from './storable-json.ts';
import type { TimelineRange } from './timeline/entries.ts';
import type { NamedUser } from '../domain/user.ts';

/** A row of `balance_changes`. */
export interface BalanceChangeRow {
  /** 32 hex digits. */
  id: string;
  tenantNo: number;
  userId: string;
  systemNo: number;
  kind: (typeof BALANCE)[keyof typeof BALANCE];
  amount: number;
  /** After the change. */
  balance: number;
  /** The spending or hold that it closes, 32 hex digits. */
  closes: string | null;
  expiresMs: number | null;
  reason: string | null;
  reference: string | null;
  atMs: number;
  /** What the key is scoped by. */
  metricNo: number;
  /** The reward that a spending paid for. */
  rewardNo: number | null;
  idempotencyKey: string | null;
}

const CHANGE = columns<BalanceChangeRow>({
  id: 'uuid',
  tenantNo: 'int',
  userId: 'text',
  systemNo: 'int',
  kind: 'int',
  amount: 'bigint',
  balance: 'bigint',
  closes: 'uuid',
  expiresMs: ['time', 'expires_at'],
  reason: 'text',
  reference: 'text',
  atMs: ['time', 'at'],
  metricNo: 'int',
  rewardNo: 'int',
  idempotencyKey: 'text',
});
const INSERT = CHANGE.insertInto('balance_changes');

/** Adds changes. An existing ID is an error (23505), because the cursor guarantees that each is new. */
export async function insertBalanceChanges(client: PoolClient, rows: readonly BalanceChangeRow[]): Promise<void> {
  if (rows.length > 0) await client.query(INSERT, CHANGE.arrays(rows));
}

/** A user's changes with one of some IDs, and those that close one of them, in order. */
export async function readBalanceChanges(
  pool: Pool,
  { tenantNo, userId }: NamedUser,
  ids: readonly string[],
): Promise<BalanceChangeRow[]> {
  const { rows } = await pool.query<BalanceChangeRow>(
    `SELECT ${CHANGE.selected} FROM balance_changes
      WHERE (id = ANY ($3::uuid[]) OR closes = ANY ($3::uuid[])) AND tenant_no = $1 AND user_id = $2 ORDER BY balance_changes.id`,
    [tenantNo, storableText(userId), ids],
  );
  return rows;
}

/** A user's spendings, holds and expiries, newest first. `before`: only those with smaller IDs. */
export async function listSpendings(
  pool: Pool,
  page: NamedUser & { systemNo: number | null; before: string | null; limit: number },
): Promise<BalanceChangeRow[]> {
  const { tenantNo, userId, systemNo, before, limit } = page;
  const { rows } = await pool.query<BalanceChangeRow>(
    `SELECT ${CHANGE.selected} FROM balance_changes
      WHERE tenant_no = $1 AND user_id = $2 AND closes IS NULL AND ($3::int IS NULL OR system_no = $3)
        AND ($4::uuid IS NULL OR balance_changes.id < $4)
      ORDER BY balance_changes.id DESC LIMIT $5`,
    [tenantNo, storableText(userId), systemNo, before, limit],
  );
  return rows;
}

/** A user's changes in a part of a timeline. */
export async function balanceChangesIn(
  pool: Pool,
  { tenantNo, userId, above, below, newest, limit }: TimelineRange,
): Promise<BalanceChangeRow[]> {
  const { rows } = await pool.query<BalanceChangeRow>(
    `SELECT ${CHANGE.selected} FROM balance_changes
      WHERE tenant_no = $1 AND user_id = $2 AND balance_changes.id > $3::uuid AND balance_changes.id < $4::uuid
      ORDER BY balance_changes.id ${newest ? 'DESC' : ''} LIMIT $5`,
    [tenantNo, storableText(userId), above, below, limit],
  );
  return rows;
}

/** The sum of a user's changes in a points system. */
export interface Outstanding extends NamedUser {
  systemNo: number;
  /** Spent and not refunded, or expired. */
  spent: number;
  /** Open holds as `<ID> <amount>`, oldest first. */
  holds: string[];
}

/**
 * The sums of some users' changes, by user and points system. The state loses expired holds with the user's next
 * change, so a hold counts as open until a change was made after its expiry.
 */
export async function readOutstanding(pool: Pool, users: readonly NamedUser[]): Promise<Outstanding[]> {
  const { rows } = await pool.query<Outstanding>(
    `WITH own AS (
       SELECT made.*, max(at) OVER (PARTITION BY tenant_no, user_id) AS last_at
         FROM unnest($1::int[], $2::text[]) AS asked (tenant_no, user_id) JOIN balance_changes AS made USING (tenant_no, user_id)
     )
     SELECT tenant_no AS "tenantNo", user_id AS "userId", system_no AS "systemNo",
            sum(CASE kind WHEN ${BALANCE.spend} THEN amount WHEN ${BALANCE.capture} THEN amount
                          WHEN ${BALANCE.expire} THEN amount WHEN ${BALANCE.refund} THEN -amount ELSE 0 END)::float8 AS spent,
            coalesce(array_agg(replace(id::text, '-', '') || ' ' || amount ORDER BY id) FILTER (
              WHERE kind = ${BALANCE.hold} AND expires_at > last_at
                AND NOT EXISTS (SELECT FROM balance_changes AS closing WHERE closing.closes = own.id)), '{}') AS holds
       FROM own GROUP BY tenant_no, user_id, system_no`,
    [users.map(({ tenantNo }) => tenantNo), users.map(({ userId }) => storableText(userId))],
  );
  return rows;
}
