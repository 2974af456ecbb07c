import type { Pool, PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

/** A boost of one user of which a start or an end is announced. */
export interface AnnouncedBoost {
  tenantNo: number;
  userId: string;
  boostNo: number;
  type: string;
}

/** The numbers of those of some boosts whose announcement of a type was made. */
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

/** Notes an announcement, in the client's transaction; false: it was made before. */
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
