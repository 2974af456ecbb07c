import type { PlanBoard } from '../../catalog/plan.ts';
import { groupName } from '../../domain/group.ts';
import { decimalOfMicros, microsNumber, toMicros } from '../../domain/micros.ts';
import type { Compensated } from '../../packed/record.ts';
import { COMPENSATED } from '../../packed/record-fields.ts';
import type { UserState } from '../../packed/state.ts';
import type { OpenBoard, OpenRun } from './open-boards.ts';
import { scoreKey, type ScoreDifferences } from './score-differences.ts';

/** What is to become of a score in an open run. */
export interface PlannedScore {
  /** The board's number. */
  no: number;
  /** First day of the run, epoch day. */
  run: number;
  /** What is added beside the points that awards of the plan add. */
  whole: number;
  micros: number;
  /** The score when it was planned, and what it becomes. */
  from: number;
  to: number;
  /** Whether it goes to another group. */
  moves: boolean;
}

const MILLION = 1_000_000n;

/**
 * The scores of a user that a plan changes: to what history comes to, with the awards of the plan in the runs of their days, in the
 * group of now. `keeps`: none is lowered. Awards on a board with a time of day count if the plan is applied in it: not shown.
 */
export function plannedScores(
  boards: readonly OpenBoard[],
  user: { state: UserState; differences: ScoreDifferences; awards: readonly Compensated[]; keeps: boolean },
): PlannedScore[] {
  const { state, differences, awards, keeps } = user;
  return boards.flatMap(({ board, runs }) => {
    const group = groupOf(board, state);
    return runs.flatMap((run) => {
      const score = state.boards[board.no]?.find(({ runDay }) => runDay === run.first);
      const beside = differences.get(scoreKey(board.no, run.first)) ?? 0n;
      const awarded = BigInt(awardedIn(board, run, awards)) * MILLION;
      const moves = score !== undefined && score.group !== group;
      const added = keeps && beside + awarded < 0n ? 0n : beside + awarded;
      if (!moves && awarded === 0n && (beside === 0n || added === 0n)) return [];
      const from = toMicros(score?.score ?? '0');
      const planned = { no: board.no, run: run.first, ...decimalOfMicros(beside), moves };
      return [{ ...planned, from: microsNumber(from), to: microsNumber(from + added) }];
    });
  });
}

/** The group of a user's attributes of now, as `lua/lib/board_scores.lua` has it; '' for one who lacks a value. */
function groupOf({ groups = [] }: PlanBoard, { attributes }: UserState): string {
  const values = groups.map((no) => attributes[no]);
  return values.includes(undefined) ? '' : groupName(values as string[]);
}

function awardedIn({ by, system, from, to }: PlanBoard, run: OpenRun, awards: readonly Compensated[]): number {
  if (by !== 'points' || from !== undefined || to !== undefined) return 0;
  return awards
    .filter((award) => award[COMPENSATED.system] === system && isIn(run, award[COMPENSATED.day]))
    .reduce((sum, award) => sum - award[COMPENSATED.points], 0);
}

const isIn = ({ first, last = Infinity }: OpenRun, day: number | undefined): boolean =>
  day !== undefined && day >= first && day <= last;
