import type { Pool, PoolClient } from 'pg';
import { columns } from './columns.ts';
import { firstIdOf } from './partitions.ts';
import { storableText } from './storable-json.ts';

/** A points system whose points expire, and how far they have. */
export interface ExpiringSystem {
  tenantNo: number;
  no: number;
  /** Version of the tenant's catalog at the time of the read. */
  version: number;
  /** `null` if its points no longer expire. */
  afterDays: number | null;
  /** The next day (epoch day, UTC) at whose start points expire; `null` before it is known. */
  day: number | null;
  /** The last user for whom that day is done. */
  lastUser: string;
}

/** The points systems with `expiresAfterDays` or with progress. */
export async function expiringSystems(pool: Pool): Promise<ExpiringSystem[]> {
  const { rows } = await pool.query<ExpiringSystem>({
    name: 'expiring_systems',
    text: `
      SELECT tenant_no AS "tenantNo", system_no AS no, coalesce(version, 0) AS version, after_days AS "afterDays", day,
             coalesce(last_user, '') AS "lastUser"
        FROM (SELECT resource.tenant_no, resource.no AS system_no, tenants.catalog_version AS version,
                     (doc->>'expiresAfterDays')::int AS after_days
                FROM catalog_resources AS resource
                JOIN tenants ON tenants.no = resource.tenant_no AND tenants.status = 'active'
                JOIN organisation ON multi_tenancy = (resource.tenant_no > 0)
               WHERE kind = 'points_system' AND deleted IS NULL AND doc->>'expiresAfterDays' IS NOT NULL) AS expiring
        FULL JOIN expiry_progress USING (tenant_no, system_no)
       ORDER BY 1, 2`,
  });
  return rows;
}

type System = Pick<ExpiringSystem, 'tenantNo' | 'no'>;

const SYSTEM = columns<System>({ tenantNo: 'int', no: ['int', 'system_no'] });

/** Lets points expire from a day on, and not before. Progress that is not beyond that day stays unchanged. */
export async function beginExpiry(pool: Pool, systems: readonly System[], day: number): Promise<void> {
  await pool.query(
    `INSERT INTO expiry_progress AS progress (tenant_no, system_no, day)
     SELECT tenant_no, system_no, $3 FROM ${SYSTEM.unnest('begun')}
     ON CONFLICT (tenant_no, system_no) DO UPDATE SET day = EXCLUDED.day, last_user = '' WHERE progress.day > EXCLUDED.day`,
    [...SYSTEM.arrays(systems), day],
  );
}

export async function endExpiry(pool: Pool, systems: readonly System[]): Promise<void> {
  await pool.query(
    `DELETE FROM expiry_progress AS progress USING ${SYSTEM.unnest('ended')}
      WHERE progress.tenant_no = ended.tenant_no AND progress.system_no = ended.system_no`,
    SYSTEM.arrays(systems),
  );
}

/** Advances a progress if it has not changed since it was read; false if another process was faster. */
export async function moveExpiry(
  client: Pool | PoolClient,
  { tenantNo, no, day, lastUser }: ExpiringSystem,
  next: { day: number; lastUser: string },
): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE expiry_progress SET day = $5, last_user = $6
      WHERE tenant_no = $1 AND system_no = $2 AND day = $3 AND last_user = $4`,
    [tenantNo, no, day, lastUser, next.day, next.lastUser],
  );
  return rowCount === 1;
}

/**
 * The points that users earned from some days (epoch days, UTC, ascending) on, by user; deductions are not subtracted. Omits
 * users who earned nothing.
 */
export async function earnedSince(
  pool: Pool,
  { tenantNo, no }: System,
  { userIds, days }: { userIds: readonly string[]; days: readonly number[] },
): Promise<Map<string, number[]>> {
  const sums = days.map((_, index) => `coalesce(sum(awarded) FILTER (WHERE id >= $${index + 4}), 0)::float8`);
  const { rows } = await pool.query<{ userId: string; earned: number[] }>(
    `SELECT user_id AS "userId", ARRAY[${sums.join(', ')}] AS earned
       FROM awards WHERE tenant_no = $1 AND user_id = ANY ($2) AND system_no = $3 AND id >= $4 AND awarded > 0
      GROUP BY user_id`,
    [tenantNo, userIds.map(storableText), no, ...days.map(firstIdOf)],
  );
  return new Map(rows.map(({ userId, earned }) => [userId, earned]));
}

/** The last day (epoch day, UTC) whose awards retention has dropped or is dropping; -1 if there is none. */
export async function lastDroppedDay(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ day: number }>(
    'SELECT coalesce(max(end_day), 0) - 1 AS day FROM event_partitions WHERE is_dropped',
  );
  return rows[0]!.day;
}
