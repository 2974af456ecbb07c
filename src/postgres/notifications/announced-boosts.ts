import type { Pool, PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

/** A user's boost whose start or end is announced. */
export interface AnnouncedBoost {
  tenantNo: number;
  userId: string;
  boostNo: number;
  type: string;
}

/** Numbers of those boosts that were already announced with a type. */
export async function announcedBoosts(
  pool: Pool,
  { tenantNo, type }: Pick<AnnouncedBoost, 'tenantNo' | 'type'>,
  boostNos: readonly number[],
): Promise<number[]> {
  const { rows } = await pool.query<{ no: number }>(
    'SELECT boost_no AS no FROM notification_boosts WHERE tenant_no = $1 AND type = $2 AND boost_no = ANY ($3)',
    [tenantNo, type, boostNos],
  );
  return rows.map(({ no }) => no);
}

/** Records an announcement in the client's transaction; false if it was already made. */
export async function claimBoost(
  client: PoolClient,
  { tenantNo, userId, boostNo, type }: AnnouncedBoost,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `INSERT INTO notification_boosts (tenant_no, user_id, boost_no, type) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
    [tenantNo, storableText(userId), boostNo, type],
  );
  return rowCount === 1;
}
