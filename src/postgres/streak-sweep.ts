import type { Pool } from 'pg';
import { epochDay } from '../domain/periods.ts';
import { transaction } from './transaction.ts';
import { lockCursors } from './shards.ts';

/** A tenant's time zone and the progress of its sweep. */
export interface SweptZone {
  tenantNo: number;
  /** `''` means UTC. */
  zone: string;
  /** The last local day (epoch day) whose beginning has been swept. */
  sweptDay: number;
  lastUser: string;
  /** Minimum version of the tenant's catalog. */
  version: number;
}

/** Zones whose sweep is furthest behind, and the last day swept. `except`: `<tenant no>:<zone>`. */
export async function leastSwept(pool: Pool, except: readonly string[]): Promise<{ zone: string; sweptDay: number }[]> {
  const { rows } = await pool.query<{ zone: string; sweptDay: number }>({
    name: 'least_swept',
    text: `SELECT zone, min(swept_day) AS "sweptDay" FROM streak_zones
       JOIN tenants ON no = tenant_no AND status = 'active'
      WHERE tenant_no || ':' || zone <> ALL ($1) GROUP BY zone`,
    values: [except],
  });
  return rows;
}

export async function zonesOf(
  pool: Pool,
  tenantNos: readonly number[],
): Promise<{ tenantNo: number; zone: string; sweptDay: number }[]> {
  const { rows } = await pool.query<{ tenantNo: number; zone: string; sweptDay: number }>(
    `SELECT tenant_no AS "tenantNo", zone, swept_day AS "sweptDay" FROM streak_zones WHERE tenant_no = ANY ($1)`,
    [tenantNos],
  );
  return rows;
}

/** Tenants' zones of a name whose last swept day is exactly this one. */
export async function zonesAt(pool: Pool, zone: string, sweptDay: number): Promise<SweptZone[]> {
  const { rows } = await pool.query<SweptZone>(
    `SELECT tenant_no AS "tenantNo", zone, swept_day AS "sweptDay", last_user AS "lastUser", catalog_version AS version
       FROM streak_zones JOIN tenants ON no = tenant_no AND status = 'active'
      WHERE zone = $1 AND swept_day = $2 ORDER BY tenant_no`,
    [zone, sweptDay],
  );
  return rows;
}

/** Records a zone's progress if it has not changed since it was read; false if another sweep was faster. */
export async function noteSwept(
  pool: Pool,
  { tenantNo, zone, sweptDay, lastUser }: SweptZone,
  next: { sweptDay: number; lastUser: string },
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `UPDATE streak_zones SET swept_day = $5, last_user = $6
      WHERE tenant_no = $1 AND zone = $2 AND swept_day = $3 AND last_user = $4`,
    [tenantNo, zone, sweptDay, lastUser, next.sweptDay, next.lastUser],
  );
  return rowCount === 1;
}

/**
 * Removes a tenant's zone if no user is in it; otherwise returns false. Holds the outbox cursor of the tenant's shard. Every
 * writer of users holds it too and records their zones before releasing it, so a new user with the zone is either visible
 * here, or finds the zone gone and adds it again. A persister that finds the cursor taken gives up; the caller wakes another
 * one.
 */
export function dropUnusedZone(
  pool: Pool,
  { tenantNo, zone, shards }: { tenantNo: number; zone: string; shards: readonly number[] },
): Promise<boolean> {
  return transaction(pool, async (client) => {
    await lockCursors(client, shards);
    // A separate statement, so that it sees everything committed before it got the cursors.
    const { rowCount } = await client.query(
      `DELETE FROM streak_zones WHERE tenant_no = $1 AND zone = $2
          AND NOT EXISTS (SELECT FROM users WHERE tenant_no = $1 AND zone = $2)`,
      [tenantNo, zone],
    );
    return rowCount === 1;
  });
}

export interface UserPage {
  /** Users who may have something to settle. */
  ids: string[];
  seen: number;
  /** The last ID checked; `''` at the end. */
  lastUser: string;
  /** The first day on which one of the other users may have something to settle; `null` if none ever will. */
  nextDay: number | null;
}

/**
 * Checks the next users of a zone after an ID: which of them may have something to settle when a local day begins.
 * `earning`: the plan's `streak.earn`, `null` if users earn no freezes. For users without due work, it reads only the
 * row.
 */
export async function dueUsers(
  pool: Pool,
  page: {
    tenantNo: number;
    zone: string;
    after: string;
    day: number;
    earning: readonly [number, number, number, number] | null;
    limit: number;
  },
): Promise<UserPage> {
  const { tenantNo, zone, after, day, earning, limit } = page;
  // For users who have not earned yet, earning counts from the local day, which may be the day before UTC's. Users who
  // earned before the settings changed may be checked too early.
  const sinceDay = earning === null ? null : epochDay(earning[3]) - 1;
  const { rows } = await pool.query<{ ids: string[]; seen: number; last: string; nextDay: number | null }>(
    `SELECT coalesce(array_agg(id ORDER BY id) FILTER (WHERE due <= $4), '{}') AS ids, count(*)::int AS seen,
            coalesce(max(id), '') AS last, min(due) FILTER (WHERE due > $4) AS "nextDay"
       FROM (SELECT id, least(due_day, CASE WHEN $5::int IS NOT NULL AND freezes < $6::int
                                            THEN coalesce(earned_day, $7::int) + $5::int END) AS due
               FROM users WHERE tenant_no = $1 AND zone = $2 AND id > $3 ORDER BY id LIMIT $8) AS page`,
    [tenantNo, zone, after, day, earning?.[0] ?? null, earning?.[2] ?? null, sinceDay, limit],
  );
  const { ids, seen, last, nextDay } = rows[0]!;
  return { ids, seen, lastUser: seen < limit ? '' : last, nextDay };
}
