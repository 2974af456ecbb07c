import type { Pool, PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';
import { binaryArray, binaryBigIntegers, binaryIntegers, TEXT } from './binary-rows.ts';

export interface CompletionRow {
  tenantNo: number;
  userId: string;
  achievementNo: number;
  atMs: number;
  /** The cause: an event, or something else with an ID (32 hex digits). */
  causedBy: string;
  /** Version of the catalog; `null` if not recorded. */
  catalogVersion: number | null;
  backdated: boolean;
}

const INSERT = `
  INSERT INTO completions (tenant_no, user_id, achievement_no, at, caused_by, catalog_version, backdated)
  SELECT tenant_no, user_id, achievement_no, to_timestamp(at_ms / 1000.0), caused_by, catalog_version, backdated
  FROM unnest($1::int[], $2::text[], $3::int[], $4::bigint[], $5::uuid[], $6::bigint[], $7::boolean[])
    AS completed (tenant_no, user_id, achievement_no, at_ms, caused_by, catalog_version, backdated)
  ON CONFLICT DO NOTHING`;

/** Adds completions. An achievement is completed only once, so an earlier completion is kept. */
export async function insertCompletions(client: PoolClient, completions: readonly CompletionRow[]): Promise<void> {
  if (completions.length === 0) return;
  await client.query({
    name: 'persist_completions',
    text: INSERT,
    values: [
      binaryIntegers(completions.map((row) => row.tenantNo)),
      binaryArray(
        TEXT,
        completions.map((row) => storableText(row.userId)),
      ),
      binaryIntegers(completions.map((row) => row.achievementNo)),
      binaryBigIntegers(completions.map((row) => row.atMs)),
      completions.map((row) => row.causedBy),
      binaryBigIntegers(completions.map((row) => row.catalogVersion)),
      completions.map((row) => row.backdated),
    ],
  });
}

/** Number shown, and at least kept, per tenant. */
const NEWEST_KEPT = 20;
/** One transaction in this many also deletes old rows, which takes 0.5 ms. */
const DROPPED_EVERY = 64;

const ADD = `
  INSERT INTO newest_completions (tenant_no, user_id, achievement_no, at)
  SELECT tenant_no, user_id, achievement_no, to_timestamp(at_ms / 1000.0)
  FROM unnest($1::int[], $2::text[], $3::int[], $4::bigint[]) AS completed (tenant_no, user_id, achievement_no, at_ms)
  RETURNING no`;

const DROP = `
  DELETE FROM newest_completions USING unnest($1::int[]) AS tenant (tenant_no)
   WHERE newest_completions.tenant_no = tenant.tenant_no
     AND no <= (SELECT no FROM newest_completions AS kept WHERE kept.tenant_no = tenant.tenant_no
                 ORDER BY no DESC OFFSET ${NEWEST_KEPT} LIMIT 1)`;

/** Stores the latest completions of each tenant for quick access, and sometimes deletes older ones. `rows`: in order of time. */
export async function keepNewestCompletions(client: PoolClient, rows: readonly CompletionRow[]): Promise<void> {
  if (rows.length === 0) return;
  const newest = lastOfEach(rows);
  const tenants = newest.map(({ tenantNo }) => tenantNo);
  const added = await client.query<{ no: string }>(ADD, [
    tenants,
    newest.map(({ userId }) => storableText(userId)),
    newest.map(({ achievementNo }) => achievementNo),
    newest.map(({ atMs }) => atMs),
  ]);
  if (added.rows.some(({ no }) => Number(no) % DROPPED_EVERY === 0)) await client.query(DROP, [[...new Set(tenants)]]);
}

/** The last `NEWEST_KEPT` rows of each tenant, in order. */
function lastOfEach(rows: readonly CompletionRow[]): CompletionRow[] {
  if (rows.length <= NEWEST_KEPT) return [...rows];
  const taken = new Map<number, number>();
  const newest = rows.toReversed().filter(({ tenantNo }) => {
    const count = (taken.get(tenantNo) ?? 0) + 1;
    taken.set(tenantNo, count);
    return count <= NEWEST_KEPT;
  });
  return newest.toReversed();
}

interface NewestCompletion {
  userId: string;
  achievementNo: number;
  at: Date;
}

export async function newestCompletions(pool: Pool, tenantNo: number): Promise<NewestCompletion[]> {
  const { rows } = await pool.query<NewestCompletion>(
    `SELECT user_id AS "userId", achievement_no AS "achievementNo", at FROM newest_completions
      WHERE tenant_no = $1 ORDER BY no DESC LIMIT ${NEWEST_KEPT}`,
    [tenantNo],
  );
  return rows;
}
