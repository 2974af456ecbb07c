import type { PoolClient } from 'pg';
import type { CompletedInRecord } from '../../packed/completed.ts';
import { packedCompletion } from '../../packed/packed-arrays.ts';
import { COMPLETED, RECORDED_QUEST } from '../../packed/record-fields.ts';
import type { Compensated, PackedCompletion, RecomputedScore } from '../../packed/record.ts';
import { COMPLETION } from './events.ts';
import { storableJson, storableText } from '../storable-json.ts';

export interface RecomputedRow {
  /** 32 hex digits. Completions and awards name it as their cause. */
  id: string;
  tenantNo: number;
  userId: string;
  /** ID of the job, 32 hex digits. */
  job: string;
  /** Whether it reverts what the job had done. */
  reverts: boolean;
  atMs: number;
  completed: readonly CompletedInRecord[];
  revoked: PackedCompletion[];
  restored: PackedCompletion[];
  /** Points taken; negative if given. */
  awards: Compensated[];
  skipped: number[];
  scores: RecomputedScore[];
}

/** A job's changes to a user, stored so that they can be reverted. */
export interface AppliedChanges {
  /** Epoch ms. */
  atMs: number;
  completed: PackedCompletion[];
  revoked: PackedCompletion[];
  awards: Compensated[];
  skipped: number[];
  /** Absent if leaderboards were not recomputed. */
  scores?: RecomputedScore[];
}

const REVOKE = `
  DELETE FROM completions USING unnest($1::int[], $2::text[], $3::int[], $4::int[]) AS gone (tenant_no, user_id, no, its_period)
   WHERE completions.tenant_no = gone.tenant_no AND completions.user_id = gone.user_id AND achievement_no = gone.no
     AND period = gone.its_period
  RETURNING completions.tenant_no AS "tenantNo", completions.user_id AS "userId", ${COMPLETION}`;

const RESTORE = `
  INSERT INTO completions (tenant_no, user_id, achievement_no, at, caused_by, period)
  SELECT tenant_no, user_id, no, to_timestamp(at_ms / 1000.0), caused_by, period
    FROM unnest($1::int[], $2::text[], $3::int[], $4::bigint[], $5::uuid[], $6::int[])
      AS back (tenant_no, user_id, no, at_ms, caused_by, period)
  ON CONFLICT DO NOTHING`;

const NOTE = `
  UPDATE recomputed_users AS planned
     SET applied_id = CASE WHEN reverts THEN applied_id ELSE record_id END,
         applied = CASE WHEN reverts THEN applied ELSE done END,
         reverted_id = CASE WHEN reverts THEN record_id ELSE reverted_id END
    FROM unnest($1::int[], $2::text[], $3::uuid[], $4::uuid[], $5::boolean[], $6::jsonb[])
      AS step (tenant_no, user_id, job, record_id, reverts, done)
   WHERE planned.recomputation_no = (SELECT no FROM recomputations WHERE id = step.job)
     AND planned.user_id = step.user_id AND planned.tenant_no = step.tenant_no`;

/** Stores recomputations' changes: revokes, restores, and records what was done. Each user once per call. */
export async function insertRecomputed(client: PoolClient, rows: readonly RecomputedRow[]): Promise<void> {
  if (rows.length === 0) return;
  const gone = await revoke(client, rows);
  await restore(client, rows);
  await client.query(NOTE, [
    rows.map(({ tenantNo }) => tenantNo),
    rows.map(({ userId }) => storableText(userId)),
    rows.map(({ job }) => job),
    rows.map(({ id }) => id),
    rows.map(({ reverts }) => reverts),
    rows.map((row) => storableJson(JSON.stringify(applied(row, gone.get(keyOf(row)) ?? [])))),
  ]);
}

/** Deletes revoked completions and returns them by user, with their causes. */
async function revoke(client: PoolClient, rows: readonly RecomputedRow[]): Promise<Map<string, PackedCompletion[]>> {
  const each = rows.flatMap((row) => row.revoked.map((completion) => ({ ...row, completion })));
  const gone = new Map<string, PackedCompletion[]>();
  if (each.length === 0) return gone;
  const deleted = await client.query<{ tenantNo: number; userId: string; completion: PackedCompletion }>(REVOKE, [
    each.map(({ tenantNo }) => tenantNo),
    each.map(({ userId }) => storableText(userId)),
    each.map(({ completion }) => completion[COMPLETED.achievement]),
    each.map(({ completion }) => completion[COMPLETED.period] ?? 0),
  ]);
  for (const { completion, ...user } of deleted.rows)
    gone.set(keyOf(user), [...(gone.get(keyOf(user)) ?? []), completion]);
  return gone;
}

async function restore(client: PoolClient, rows: readonly RecomputedRow[]): Promise<void> {
  const each = rows.flatMap((row) => row.restored.map((completion) => ({ ...row, completion })));
  if (each.length === 0) return;
  await client.query(RESTORE, [
    each.map(({ tenantNo }) => tenantNo),
    each.map(({ userId }) => storableText(userId)),
    each.map(({ completion }) => completion[COMPLETED.achievement]),
    each.map(({ completion }) => completion[COMPLETED.atMs]),
    each.map(({ completion }) => completion[COMPLETED.causedBy] || null),
    each.map(({ completion }) => completion[COMPLETED.period] ?? 0),
  ]);
}

function applied(
  { completed, atMs, awards, skipped, scores }: RecomputedRow,
  revoked: PackedCompletion[],
): AppliedChanges {
  return {
    atMs,
    completed: completed.map(({ achievementNo, quest }) =>
      packedCompletion(achievementNo, atMs, quest?.[RECORDED_QUEST.period]),
    ),
    revoked,
    awards,
    skipped,
    ...(scores.length > 0 && { scores }),
  };
}

const keyOf = ({ tenantNo, userId }: { tenantNo: number; userId: string }): string =>
  `${tenantNo}:${storableText(userId)}`;
