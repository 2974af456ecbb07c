import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { PlanBoard } from '../../catalog/plan.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { dayOf } from '../../domain/periods.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { dayIn, zoneOffset } from '../../domain/zone.ts';
import { COMPENSATED } from '../../packed/record-fields.ts';
import type { StoredEvent } from '../../postgres/corrections/reversals.ts';
import type { PlannedReversal } from './planned-reversal.ts';

/** What is added to a user's score in a run. */
export interface BoardMove {
  board: PlanBoard;
  /** First day of the run, epoch day. */
  run: number;
  /** On boards of the metric. */
  whole?: number;
  micros?: number;
  /** On boards of points: 32 hex digits of the awards whose points are taken or given. */
  awards?: string[];
}

/** The local day (epoch day) of what an event awarded: a late one awards when it comes. */
export const awardDay = ({ root, tz }: Pick<PlannedReversal, 'root' | 'tz'>): number =>
  root.occurredMs === root.atMs ? dayOf(root.localDate) : dayIn(tz, root.atMs);

/** The runs that are not final, of boards of the event's metric that contain its local day, and of boards of points by their awards. */
export function boardMoves(
  compiled: CompiledCatalog,
  planned: PlannedReversal,
  { whole, micros }: { whole: number; micros: number },
): BoardMove[] {
  const { root, tz, nowMs } = planned;
  const taken = takenBy(planned);
  const moves: BoardMove[] = [];
  for (const board of compiled.catalog.leaderboards) {
    const ofMetric = isOfMetric(compiled, board, root);
    if (board.status === 'inactive' || (!ofMetric && board.rankBy !== 'points')) continue;
    const rule = playedRule(board);
    const planBoard = compileBoard(compiled, board, { metric: null, days: [] });
    /** The open run, epoch day, that takes what happened then; null: none does. */
    const runAt = ({ day, atMs }: { day: number; atMs: number }): number | null => {
      const run = runOf(rule, day);
      if (run === null || (run.endDay !== null && nowMs >= finalMs(run.endDay))) return null;
      return insideWindow(planBoard, secondOfDay(tz, atMs)) ? run.startDay : null;
    };
    if (ofMetric) {
      const run = runAt({ day: dayOf(root.localDate), atMs: root.occurredMs });
      if (run !== null) moves.push({ board: planBoard, run, whole, micros });
      continue;
    }
    const byRun = new Map<number, string[]>();
    for (const each of taken) {
      const run = each.system === planBoard.system ? runAt(each) : null;
      if (run !== null) byRun.set(run, [...(byRun.get(run) ?? []), each.award]);
    }
    for (const [run, awards] of byRun) moves.push({ board: planBoard, run, awards });
  }
  return moves;
}

/** What may be taken or given, with the day and time of its award: a composite may have paid days after the event. */
function takenBy({ root, awards, revoked, tz }: PlannedReversal) {
  return [...awards, ...revoked.flatMap((each) => each.awards)].map((taken) => ({
    award: taken[COMPENSATED.award],
    system: taken[COMPENSATED.system],
    day: taken[COMPENSATED.day] ?? awardDay({ root, tz }),
    atMs: taken[COMPENSATED.atMs] ?? root.atMs,
  }));
}

const isOfMetric = (compiled: CompiledCatalog, { rankBy, metricId }: Leaderboard, { metricNo }: StoredEvent): boolean =>
  rankBy === 'metric' && compiled.catalog.metrics.some(({ id, no }) => id === metricId && no === metricNo);

/** The second of the local day, as it is in the user's zone of now. */
function secondOfDay(tz: string | null, atMs: number): number {
  const offset = tz === null ? 0 : (zoneOffset(tz, atMs)?.offsetSeconds ?? 0);
  return (((Math.floor(atMs / 1000) + offset) % 86_400) + 86_400) % 86_400;
}

/** As `lua/lib/board_scores.lua` has it. */
function insideWindow({ from = 0, to = 86_400 }: PlanBoard, second: number): boolean {
  return from <= to ? second >= from && second < to : second >= from || second < to;
}
