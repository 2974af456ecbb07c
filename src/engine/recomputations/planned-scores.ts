import type { PoolClient } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { PlanBoard } from '../../rules/plan.ts';
import { clamped, type Decimal, decimalNumber, decimalOfMicros, microsNumber, microsOf } from '../../domain/decimal.ts';
import { NO_SCORE } from '../../domain/leaderboard.ts';
import { HISTORY_SUM } from '../../packed/call-fields.ts';
import { emptyHistorySum, historySum } from '../../packed/packed-arrays.ts';
import type { HistorySum } from '../../packed/state.ts';
import { COMPENSATED } from '../../packed/record-fields.ts';
import type { Compensated } from '../../packed/record.ts';
import { historySums } from '../../postgres/boards/past-scores.ts';
import { boardHistory, offsetsOf } from '../leaderboards/board-history.ts';
import { groupOf, scoreIn } from '../../rules/leaderboards.ts';
import { heldSum, isSameScore, type OpenRun } from '../../rules/recomputation.ts';
import type { User } from '../../rules/user.ts';
import type { OpenBoard } from './open-boards.ts';

export interface PlannedScore {
  no: number;
  /** First day of the run (epoch day). */
  run: number;
  /** The change in addition to the points of the plan's awards. */
  whole: number;
  micros: number;
  /** Instead, on boards on which 0 is a score: the score at planning time, and the proposed one. */
  was?: HistorySum;
  becomes?: HistorySum;
  /** The same as numbers; NO_SCORE for none. */
  from: number;
  to: number;
  /** Whether it moves to another group. */
  moves: boolean;
}

const MILLION = 1_000_000n;

/**
 * The scores of a user that a plan changes: to the scores that follow from history and the plan's awards in the runs of
 * their days, in the user's current group. `keeps`: never lowers a score. Awards on a board with a time of day count
 * only if the plan is applied within that time, and are not shown.
 */
export function plannedScores(
  boards: readonly OpenBoard[],
  plan: { user: User; differences: ScoreDifferences; awards: readonly Compensated[]; keeps: boolean },
): PlannedScore[] {
  const { user, differences, awards, keeps } = plan;
  return boards.flatMap(({ board, runs }) => {
    const group = groupOf(board, user) ?? '';
    return runs.flatMap((run) => {
      const score = scoreIn(user, { board: board.no, runDay: run.first });
      const difference = differences.get(scoreKey(board.no, run.first));
      if (board.floor !== undefined)
        return replacedScore({
          board,
          run,
          score,
          moves: score !== undefined && score.group !== group,
          keeps,
          difference,
        });
      const beside = typeof difference === 'bigint' ? difference : 0n;
      const awarded = BigInt(awardedIn(board, run, awards)) * MILLION;
      const moves = score !== undefined && score.group !== group;
      const added = keeps && beside + awarded < 0n ? 0n : beside + awarded;
      if (!moves && awarded === 0n && (beside === 0n || added === 0n)) return [];
      const from = score === undefined ? 0n : microsOf(score);
      const planned = { no: board.no, run: run.first, ...decimalOfMicros(beside), moves };
      return [{ ...planned, from: microsNumber(from), to: microsNumber(from + added) }];
    });
  });
}

function replacedScore(scored: {
  board: PlanBoard;
  run: OpenRun;
  score: Decimal | undefined;
  moves: boolean;
  keeps: boolean;
  difference: bigint | Replacement | undefined;
}): PlannedScore[] {
  const { board, run, score, moves, keeps, difference } = scored;
  const planned = { no: board.no, run: run.first, whole: 0, micros: 0, moves };
  const from = score === undefined ? NO_SCORE : decimalNumber(score);
  const replacement = typeof difference === 'object' ? difference : undefined;
  if (replacement === undefined || (keeps && isLower(replacement)))
    return moves ? [{ ...planned, from, to: from }] : [];
  return [{ ...planned, ...replacement, from, to: numberOf(replacement.becomes) }];
}

/** Whether a score by history is lower than the current one. */
function isLower({ was, becomes }: Replacement): boolean {
  const difference = numberOf(becomes) - numberOf(was);
  const [before, after] = [was[HISTORY_SUM.secondary] ?? 0, becomes[HISTORY_SUM.secondary] ?? 0];
  return difference < 0 || (difference === 0 && after < before);
}

const numberOf = (sum: HistorySum): number =>
  decimalNumber({ whole: sum[HISTORY_SUM.whole], micros: sum[HISTORY_SUM.micros] });

function awardedIn({ by, system, from, to }: PlanBoard, run: OpenRun, awards: readonly Compensated[]): number {
  if (by !== 'points' || from !== undefined || to !== undefined) return 0;
  return awards
    .filter((award) => award[COMPENSATED.system] === system && isIn(run, award[COMPENSATED.day]))
    .reduce((sum, award) => sum - award[COMPENSATED.points], 0);
}

const isIn = ({ first, last = Infinity }: OpenRun, day: number | undefined): boolean =>
  day !== undefined && day >= first && day <= last;

/** The current score, and the one by history. */
interface Replacement {
  was: HistorySum;
  becomes: HistorySum;
}

/**
 * By board and run (`scoreKey`): the score by history minus the current one, in millionths, or on boards on which 0 is a score
 * both. Omits equal ones.
 */
export type ScoreDifferences = ReadonlyMap<string, bigint | Replacement>;

const scoreKey = (boardNo: number, runDay: number): string => `${boardNo} ${runDay}`;

interface ScoredUsers {
  compiled: CompiledCatalog;
  boards: readonly OpenBoard[];
  users: ReadonlyMap<string, User>;
  nowMs: number;
  /** The first day (epoch day) of which single events are stored; `null` if all are. */
  detailsFromDay: number | null;
}

/**
 * The differences between history and scores of users in open runs, by user. Streak boards have no history. On boards
 * with a time of day, or of the highest, lowest or last value, scores stay unchanged if single events are unknown: in runs
 * whose first events were dropped, and for imported users.
 */
export async function scoreDifferences(
  client: PoolClient,
  { compiled, boards, users, nowMs, detailsFromDay }: ScoredUsers,
): Promise<ReadonlyMap<string, ScoreDifferences>> {
  const differences = new Map<string, Map<string, bigint | Replacement>>();
  for (const { board, runs } of boards) {
    const leaderboard = compiled.leaderboardsByNo.get(board.no)!;
    const { counted, lastDay, window } = boardHistory(compiled, leaderboard, nowMs);
    const first = runs[0]!.first;
    const needsEvents = window !== null || board.fold !== undefined;
    if (counted === null || (needsEvents && detailsFromDay !== null && first < detailsFromDay)) continue;
    const known = [...users].filter(([, { importedMs }]) => !needsEvents || importedMs === null);
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
          known.map(([userId, { zone: tz }]) => ({ userId, tz })),
          { fromDay: first, nowMs },
        ),
      },
    });
    for (const { id, sums } of rows)
      for (const run of runs) {
        const sum = sums.find((each) => each[HISTORY_SUM.runDay] === run.first);
        const difference = differenceOf(board, run, sum, users.get(id)!);
        if (difference === null) continue;
        const own = differences.get(id) ?? new Map<string, bigint | Replacement>();
        differences.set(id, own.set(scoreKey(board.no, run.first), difference));
      }
  }
  return differences;
}

function differenceOf(
  board: PlanBoard,
  { first }: OpenRun,
  sum: HistorySum | undefined,
  user: User,
): bigint | Replacement | null {
  const { no, floor } = board;
  const score = scoreIn(user, { board: no, runDay: first });
  if (floor === undefined) {
    const difference = (sum === undefined ? 0n : sumMicros(sum)) - (score === undefined ? 0n : microsOf(score));
    return difference === 0n ? null : difference;
  }
  const none = emptyHistorySum(first, floor);
  const was = score === undefined ? none : heldSum(user, board, score);
  const becomes =
    sum === undefined
      ? none
      : historySum(first, {
          ...decimalOfMicros(sumMicros(sum)),
          reached: sum[HISTORY_SUM.reached] ?? 0,
          secondary: sum[HISTORY_SUM.secondary] ?? null,
        });
  return isSameScore(was, becomes) ? null : { was, becomes };
}

function sumMicros(sum: { [HISTORY_SUM.whole]: number; [HISTORY_SUM.micros]: number }): bigint {
  return microsOf(clamped({ whole: sum[HISTORY_SUM.whole], micros: sum[HISTORY_SUM.micros] }));
}
