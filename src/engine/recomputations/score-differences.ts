import type { PoolClient } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { clamped } from '../../domain/decimal.ts';
import { toMicros } from '../../domain/micros.ts';
import { HISTORY_SUM } from '../../packed/call-fields.ts';
import type { UserState } from '../../packed/state.ts';
import { historySums } from '../../postgres/boards/past-scores.ts';
import { boardHistory, offsetsOf } from '../leaderboards/board-history.ts';
import type { OpenBoard } from './open-boards.ts';

/** By board number and first day of a run (`scoreKey`): what history has more than the score, in millionths; none where they agree. */
export type ScoreDifferences = ReadonlyMap<string, bigint>;

export const scoreKey = (boardNo: number, runDay: number): string => `${boardNo} ${runDay}`;

export interface ScoredUsers {
  compiled: CompiledCatalog;
  boards: readonly OpenBoard[];
  users: ReadonlyMap<string, UserState>;
  nowMs: number;
  /** From which day on (epoch day) single events are kept; null: all are. */
  detailsFromDay: number | null;
}

const MILLION = 1_000_000n;

/**
 * How the scores of users in open runs differ from what history comes to, by user. Boards of streaks have no history. Where the
 * time of day counts, scores stay of which it is not known any more: in runs whose first events were dropped, and of imported users.
 */
export async function scoreDifferences(
  client: PoolClient,
  { compiled, boards, users, nowMs, detailsFromDay }: ScoredUsers,
): Promise<ReadonlyMap<string, ScoreDifferences>> {
  const differences = new Map<string, Map<string, bigint>>();
  for (const { board, runs } of boards) {
    const leaderboard = compiled.leaderboardsByNo.get(board.no)!;
    const { counted, lastDay, window } = boardHistory(compiled, leaderboard, nowMs);
    const first = runs[0]!.first;
    if (counted === null || (window !== null && detailsFromDay !== null && first < detailsFromDay)) continue;
    const known = [...users].filter(([, { importedMs }]) => window === null || importedMs === null);
    if (known.length === 0) continue;
    const rows = await historySums(client, {
      tenantNo: compiled.catalog.tenantNo,
      ids: known.map(([id]) => id),
      counted,
      runDays: runs.map((run) => run.first),
      lastDay,
      times: window && {
        ...window,
        offsets: offsetsOf(
          known.map(([userId, { tz }]) => ({ userId, tz })),
          { fromDay: first, nowMs },
        ),
      },
    });
    for (const { id, sums } of rows)
      for (const run of runs) {
        const sum = sums.find((each) => each[HISTORY_SUM.runDay] === run.first);
        const score = users.get(id)!.boards[board.no]?.find(({ runDay }) => runDay === run.first)?.score ?? '0';
        const difference = (sum === undefined ? 0n : sumMicros(sum)) - toMicros(score);
        if (difference === 0n) continue;
        const own = differences.get(id) ?? new Map<string, bigint>();
        differences.set(id, own.set(scoreKey(board.no, run.first), difference));
      }
  }
  return differences;
}

function sumMicros(sum: { [HISTORY_SUM.whole]: number; [HISTORY_SUM.micros]: number }): bigint {
  const { whole, micros } = clamped({ whole: sum[HISTORY_SUM.whole], micros: sum[HISTORY_SUM.micros] });
  return BigInt(whole) * MILLION + BigInt(micros);
}
