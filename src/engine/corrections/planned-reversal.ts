import { compileBoard } from '../../catalog/compile/boards.ts';
import { pointsLimits } from '../../catalog/compile/points.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Achievement, Leaderboard } from '../../domain/catalog.ts';
import { type Decimal, parseDecimal } from '../../domain/decimal.ts';
import { floorOf } from '../../domain/leaderboard.ts';
import { dayOf } from '../../domain/periods.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { dayIn } from '../../domain/zone.ts';
import { addTo } from '../../grouped.ts';
import { COMPENSATED } from '../../packed/record-fields.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import type { HistorySum } from '../../packed/state.ts';
import type { StoredEvent } from '../../postgres/corrections/reversals.ts';
import { isInside, runScore } from '../../rules/leaderboards.ts';
import type { BoardCorrection, Reversal, Revocation } from '../../rules/reversal.ts';
import type { ChangedEvents, StreakReplay } from '../../rules/streak-replay.ts';
import { matches, periodsOfDay } from '../achievements/quests.ts';
import type { Correction } from './final-runs.ts';
import { localTime } from './late-replay.ts';
import { repairsOf, replayedStreaks } from './packed-replay.ts';

export function changedEvents({ root, voids }: Pick<PlannedReversal, 'root' | 'voids'>): ChangedEvents {
  const { id, occurredMs, localDate, metricNo, value } = root;
  if (voids) return { remove: new Set([id]) };
  return { add: [{ id, atMs: occurredMs, day: dayOf(localDate), metricNo, value: parseDecimal(value) }] };
}

export function reversalOf(compiled: CompiledCatalog, planned: PlannedReversal): Reversal {
  const { root, voids, reversed, counted, awards, held, revoked, restored, replay } = planned;
  const value = parseDecimal(root.value);
  const sign = voids ? 1 : -1;
  return {
    root: root.id,
    reversed,
    voids,
    metric: root.metricNo,
    value: { whole: sign * value.whole, micros: sign * value.micros },
    occurredMs: root.occurredMs,
    occurredDay: dayOf(root.localDate),
    day: awardDay(planned),
    attributes: root.attributes === null ? '' : JSON.stringify(root.attributes),
    replayed: replayedStreaks(replay),
    ...repairsOf(replay),
    counted,
    quests: Array.from(countedPeriods(compiled, root), ([{ no }, period]) => ({ no, period })),
    awards,
    held,
    limits: pointsLimits(compiled.catalog),
    revoked,
    restored,
    boards: boardMoves(compiled, planned, { whole: -sign * value.whole, micros: -sign * value.micros }),
  };
}

/** The periods in which an event counts, by the current conditions of the active repeating achievements. */
export const countedPeriods = (compiled: CompiledCatalog, event: StoredEvent): Map<Achievement, number> =>
  new Map(
    [...periodsOfDay(compiled, event.metricNo, dayOf(event.localDate))].filter(([quest]) =>
      matches(compiled, quest, event.attributes),
    ),
  );

/** The stored data that a reversal is built from, and its replay. */
export interface PlannedReversal {
  replay: StreakReplay;
  root: StoredEvent;
  reversed: string;
  voids: boolean;
  /** See `Reversal`. */
  counted: number[];
  awards: Compensated[];
  held: string[];
  revoked: Revocation[];
  restored: PackedCompletion[];
  /** The user's zone; `null` means UTC. */
  tz: string | null;
  /** By number of the board: see `scoresAfter`. */
  scores: ReadonlyMap<number, HistorySum>;
  nowMs: number;
}

/** The local day (epoch day) of an event's awards. A late event awards on the day on which it arrives. */
const awardDay = ({ root, tz }: Pick<PlannedReversal, 'root' | 'tz'>): number =>
  root.occurredMs === root.atMs ? dayOf(root.localDate) : dayIn(tz, root.atMs);

/** Changes in runs that are not final: of the event's local day on metric boards, of the awards on points boards. */
function boardMoves(compiled: CompiledCatalog, planned: PlannedReversal, earned: Decimal): BoardCorrection[] {
  const { root, tz, nowMs } = planned;
  const taken = takenBy(planned);
  const moves: BoardCorrection[] = [];
  for (const board of compiled.catalog.leaderboards) {
    const ofMetric = isOfMetric(compiled, board, root);
    if (board.status === 'inactive' || (!ofMetric && board.rankBy !== 'points')) continue;
    const rule = playedRule(board);
    const planBoard = compileBoard(compiled, board, { metric: null, days: [] });
    /** The first day (epoch day) of the open run that contains a time; `null` if there is none. */
    const runAt = ({ day, atMs }: { day: number; atMs: number }): number | null => {
      const run = runOf(rule, day);
      if (run === null || (run.endDay !== null && nowMs >= finalMs(run.endDay))) return null;
      return isInside(planBoard, localTime(tz, atMs).second) ? run.startDay : null;
    };
    if (ofMetric) {
      const run = runAt({ day: dayOf(root.localDate), atMs: root.occurredMs });
      const score = planned.scores.get(board.no);
      if (run === null) continue;
      if (floorOf(board) === 0) moves.push({ board: planBoard, run, earned, atMs: root.atMs });
      else if (score !== undefined) moves.push({ board: planBoard, run, score: runScore(score) });
      continue;
    }
    const byRun = new Map<number, { id: string; atMs: number }[]>();
    for (const each of taken) {
      const run = each.system === planBoard.system ? runAt(each) : null;
      if (run !== null) addTo(byRun, run, { id: each.award, atMs: each.atMs });
    }
    for (const [run, awards] of byRun) moves.push({ board: planBoard, run, awards });
  }
  return moves;
}

/** The awards that may be taken or given back, with day and time: a composite may have awarded days after the event. */
function takenBy({ root, awards, revoked, tz }: PlannedReversal) {
  return [...awards, ...revoked.flatMap((each) => each.awards)].map((taken) => ({
    award: taken[COMPENSATED.award],
    system: taken[COMPENSATED.system],
    points: taken[COMPENSATED.points],
    day: taken[COMPENSATED.day] ?? awardDay({ root, tz }),
    atMs: taken[COMPENSATED.atMs] ?? root.atMs,
  }));
}

/** What final runs would notice. */
export function correctionOf(compiled: CompiledCatalog, planned: PlannedReversal): Correction {
  const { root, nowMs, scores, tz } = planned;
  const held = new Set(planned.held);
  return {
    root,
    nowMs,
    scores,
    isOfMetric: (board) => isOfMetric(compiled, board, root),
    secondAt: (atMs) => localTime(tz, atMs).second,
    taken: takenBy(planned).filter(({ award }) => !held.has(award)),
  };
}

export const isOfMetric = (
  compiled: CompiledCatalog,
  { rankBy, metricId }: Leaderboard,
  { metricNo }: StoredEvent,
): boolean => rankBy === 'metric' && compiled.catalog.metrics.some(({ id, no }) => id === metricId && no === metricNo);
