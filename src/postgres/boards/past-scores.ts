import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

export interface PastScore {
  userId: string;
  runDay: number;
  group: string;
  score: number;
}

/** Collects scores of past runs until those of all users are complete. */
export async function putPastScores(
  client: PoolClient,
  { tenantNo, boardNo }: { tenantNo: number; boardNo: number },
  scores: readonly PastScore[],
): Promise<void> {
  if (scores.length === 0) return;
  await client.query(
    `INSERT INTO board_past_scores (tenant_no, board_no, user_id, run_day, group_name, score)
     SELECT $1, $2, * FROM unnest($3::text[], $4::integer[], $5::text[], $6::float8[])`,
    [
      tenantNo,
      boardNo,
      scores.map(({ userId }) => userId),
      scores.map(({ runDay }) => runDay),
      scores.map(({ group }) => storableText(group)),
      scores.map(({ score }) => score),
    ],
  );
}

/**
 * Creates final runs from the collected scores. Runs that are already final stay unchanged.
 * @param runs the past runs, with their last day and when they became final
 */
export async function rankPastScores(
  client: PoolClient,
  { tenantNo, boardNo, max }: { tenantNo: number; boardNo: number; max: number | null },
  runs: readonly { runDay: number; lastDay: number; finalMs: number }[],
): Promise<void> {
  await client.query(
    `WITH scores AS (
       DELETE FROM board_past_scores WHERE tenant_no = $1 AND board_no = $2 RETURNING run_day, group_name, user_id, score
     ), made AS (
       INSERT INTO board_runs (tenant_no, board_no, run_day, last_day, final_at, is_final, is_cleared)
       SELECT $1, $2, past.run_day, past.last_day, past.final_at, true, true
         FROM unnest($3::integer[], $4::integer[], $5::timestamptz[]) AS past (run_day, last_day, final_at)
       ON CONFLICT (tenant_no, board_no, run_day) DO NOTHING RETURNING id, run_day
     ), ranked AS (
       SELECT made.id AS run_id, group_name, user_id, score,
              row_number() OVER best - 1 AS place, rank() OVER (PARTITION BY made.id, group_name ORDER BY score DESC) AS rank
         FROM scores JOIN made ON made.run_day = scores.run_day
       WINDOW best AS (PARTITION BY made.id, group_name ORDER BY score DESC, user_id COLLATE "C" DESC)
     ), groups AS (
       INSERT INTO board_run_groups (run_id, name, members, participants, is_done)
       SELECT run_id, group_name, count(*), count(*) FILTER (WHERE $6::integer IS NULL OR rank <= $6), true
         FROM ranked GROUP BY run_id, group_name RETURNING id, run_id, name
     )
     INSERT INTO board_finals (group_id, place, tenant_no, user_id, rank, score)
     SELECT groups.id, place, $1, user_id, rank, score
       FROM ranked JOIN groups ON groups.run_id = ranked.run_id AND groups.name = ranked.group_name`,
    [
      tenantNo,
      boardNo,
      runs.map(({ runDay }) => runDay),
      runs.map(({ lastDay }) => lastDay),
      runs.map(({ finalMs }) => new Date(finalMs)),
      max,
    ],
  );
}
