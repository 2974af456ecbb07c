import type { HappenedRecord, RecordedRecomputation } from '../../packed/record.ts';
import { RECOMPUTATION, RECORD } from '../../packed/record-fields.ts';
import type { RecomputedRow } from '../../postgres/persist/recomputed.ts';

/** The row of what a recomputation did of a user. */
export const recomputedRow = (
  tenantNo: number,
  record: HappenedRecord,
  recomputation: RecordedRecomputation,
): RecomputedRow => ({
  id: record[RECORD.id],
  tenantNo,
  userId: record[RECORD.userId],
  job: recomputation[RECOMPUTATION.job],
  reverts: recomputation[RECOMPUTATION.reverts] === 1,
  atMs: record[RECORD.atMs],
  completed: record[RECORD.completed] ?? [],
  revoked: listOf(recomputation[RECOMPUTATION.revoked]),
  restored: listOf(recomputation[RECOMPUTATION.restored]),
  awards: listOf(recomputation[RECOMPUTATION.awards]),
  skipped: listOf(recomputation[RECOMPUTATION.skipped]),
  scores: listOf(recomputation[RECOMPUTATION.scores] ?? []),
});

/** An empty Lua table may be packed as a map. */
const listOf = <T>(packed: T[]): T[] => (Array.isArray(packed) ? packed : []);
