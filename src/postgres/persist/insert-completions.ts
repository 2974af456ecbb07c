import type { PoolClient } from 'pg';
import { binaryArray, binaryBigIntegers, binaryIntegers, TEXT } from './binary-array.ts';
import { storableText } from '../storable-json.ts';

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
