import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

/** A pause after a change. */
export interface StreakPauseRow {
  /** 32 hex digits. */
  id: string;
  tenantNo: number;
  userId: string;
  fromDay: number;
  /** Before `fromDay` if it was cancelled before it began. */
  toDay: number;
  atMs: number;
}

const UPSERT = `
  INSERT INTO streak_pauses (id, tenant_no, user_id, from_day, to_day, created)
  SELECT id, tenant_no, user_id, from_day, to_day, to_timestamp(at_ms / 1000.0)
  FROM unnest($1::uuid[], $2::int[], $3::text[], $4::int[], $5::int[], $6::bigint[])
    AS changed (id, tenant_no, user_id, from_day, to_day, at_ms)
  ON CONFLICT (id) DO UPDATE SET to_day = EXCLUDED.to_day, deleted = EXCLUDED.created`;

/** Adds pauses. For existing ones, marks them as deleted, with the given last day. */
export async function writeStreakPauses(client: PoolClient, pauses: readonly StreakPauseRow[]): Promise<void> {
  // One statement cannot change a row twice, so a pause that is created and deleted in one batch takes two statements.
  for (let rest = [...pauses]; rest.length > 0;) {
    const seen = new Set<string>();
    const now = rest.filter(({ id }) => !seen.has(id) && seen.add(id));
    rest = rest.filter((row) => !now.includes(row));
    await client.query(UPSERT, [
      now.map((row) => row.id),
      now.map((row) => row.tenantNo),
      now.map((row) => storableText(row.userId)),
      now.map((row) => row.fromDay),
      now.map((row) => row.toDay),
      now.map((row) => row.atMs),
    ]);
  }
}
