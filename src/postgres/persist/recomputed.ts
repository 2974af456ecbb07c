import type { PoolClient } from 'pg';
import type { CompletedInRecord } from '../../packed/completed.ts';
import { packedCompletion } from '../../packed/packed-arrays.ts';
import { COMPLETED, RECORDED_QUEST } from '../../packed/record-fields.ts';
import type { Compensated, PackedCompletion, RecomputedScore } from '../../packed/record.ts';
import { columns } from '../columns.ts';
import { COMPLETION, restoreCompletions } from './events.ts';
import { storableText } from '../storable-json.ts';

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

const GONE = columns<{ tenantNo: number; userId: string; no: number; period: number }>({
  tenantNo: 'int',
  userId: 'text',
  no: 'int',
  period: ['int', 'its_period'],
});
const REVOKE = `
  DELETE FROM completions USING ${GONE.unnest('gone')}
   WHERE completions.tenant_no = gone.tenant_no AND completions.user_id = gone.user_id AND achievement_no = gone.no
     AND period = gone.its_period
  RETURNING completions.tenant_no AS "tenantNo", completions.user_id AS "userId", ${COMPLETION}`;

const STEP = columns<Pick<RecomputedRow, 'tenantNo' | 'userId' | 'job' | 'id' | 'reverts'> & { done: string }>({
  tenantNo: 'int',
  userId: 'text',
  job: 'uuid',
  id: ['uuid', 'record_id'],
  reverts: 'boolean',
  done: 'jsonb',
});
const NOTE = `
  UPDATE recomputed_users AS planned
     SET applied_id = CASE WHEN reverts THEN applied_id ELSE record_id END,
         applied = CASE WHEN reverts THEN applied ELSE done END,
         reverted_id = CASE WHEN reverts THEN record_id ELSE reverted_id END
    FROM ${STEP.unnest('step')}
   WHERE planned.recomputation_no = (SELECT no FROM recomputations WHERE id = step.job)
     AND planned.user_id = step.user_id AND planned.tenant_no = step.tenant_no`;

/** Stores recomputations' changes: revokes, restores, and records what was done. Each user once per call. */
export async function insertRecomputed(client: PoolClient, rows: readonly RecomputedRow[]): Promise<void> {
  if (rows.length === 0) return;
  const gone = await revoke(client, rows);
  await restoreCompletions(
    client,
    rows.flatMap((row) => row.restored.map((completion) => ({ ...row, completion }))),
  );
  const steps = rows.map((row) => ({ ...row, done: JSON.stringify(applied(row, gone.get(keyOf(row)) ?? [])) }));
  await client.query(NOTE, STEP.arrays(steps));
}

/** Deletes revoked completions and returns them by user, with their causes. */
async function revoke(client: PoolClient, rows: readonly RecomputedRow[]): Promise<Map<string, PackedCompletion[]>> {
  const revoked = rows.flatMap(({ tenantNo, userId, revoked }) =>
    revoked.map((completion) => ({
      tenantNo,
      userId,
      no: completion[COMPLETED.achievement],
      period: completion[COMPLETED.period] ?? 0,
    })),
  );
  const gone = new Map<string, PackedCompletion[]>();
  if (revoked.length === 0) return gone;
  const deleted = await client.query<{ tenantNo: number; userId: string; completion: PackedCompletion }>(
    REVOKE,
    GONE.arrays(revoked),
  );
  for (const { completion, ...user } of deleted.rows)
    gone.set(keyOf(user), [...(gone.get(keyOf(user)) ?? []), completion]);
  return gone;
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
