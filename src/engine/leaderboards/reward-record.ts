import { RANKED, RECORD, RECORDED_POINTS } from '../../packed/record-fields.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import type { RankRewardRow } from '../../postgres/boards/rank-rewards.ts';

/** The reward for a final rank in a record, with all that followed from it; `null` if it has none. */
export function rankRewardOf(
  tenantNo: number,
  record: HappenedRecord,
): (RankRewardRow & { group: string; score: number }) | null {
  const ranked = record[RECORD.ranked];
  if (ranked === undefined) return null;
  const moves = (record[RECORD.points] ?? []).map((move) => [
    move[RECORDED_POINTS.system],
    move[RECORDED_POINTS.after] - move[RECORDED_POINTS.before],
  ]);
  return {
    tenantNo,
    userId: record[RECORD.userId],
    boardNo: ranked[RANKED.board],
    runDay: ranked[RANKED.runDay],
    group: ranked[RANKED.group],
    rank: ranked[RANKED.rank],
    score: ranked[RANKED.score],
    points: Object.fromEntries(moves) as Record<string, number>,
    achievements: record[RECORD.completed] ?? [],
  };
}
