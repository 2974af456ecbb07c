import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

export interface CompletionRow {
  tenantNo: number;
  userId: string;
  achievementNo: number;
  atMs: number;
}

const INSERT = `
  INSERT INTO completions (tenant_no, user_id, achievement_no, at)
  SELECT tenant_no, user_id, achievement_no, to_timestamp(at_ms / 1000.0)
  FROM unnest($1::int[], $2::text[], $3::int[], $4::bigint[]) AS completed (tenant_no, user_id, achievement_no, at_ms)
  ON CONFLICT DO NOTHING`;

/** Adds completions of achievements. An achievement is completed once for good: an earlier completion is kept. */
export async function insertCompletions(client: PoolClient, completions: readonly CompletionRow[]): Promise<void> {
  if (completions.length === 0) return;
  await client.query(INSERT, [
    completions.map((row) => row.tenantNo),
    completions.map((row) => storableText(row.userId)),
    completions.map((row) => row.achievementNo),
    completions.map((row) => row.atMs),
  ]);
}
