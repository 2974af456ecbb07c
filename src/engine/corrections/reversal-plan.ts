import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { PlanAchievement, PlanBoard } from '../../catalog/plan.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { parseDecimal } from '../../domain/decimal.ts';
import { DAY_MS, dayOf } from '../../domain/periods.ts';
import type { StreakReplay } from '../../domain/replay-repairs.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { dayIn, zoneOffset } from '../../domain/zone.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import { COMPENSATED } from '../../packed/record-fields.ts';
import type { StoredEvent } from '../../postgres/corrections/read-reversible.ts';
import { repairsOf, replayed, type Replayed } from './packed-replay.ts';

/** What `lua/reverse_event.lua` is to do; its names are used there. */
export interface ReversalPlan {
  /** See `fingerprint`. */
  expected: string;
  /** 32 hex digits: the event at the root, and what is reversed: that event, or the last reversal of it. */
  root: string;
  reversed: string;
  /** Whether the event at the root counts no more; false: it counts again. */
  voids: boolean;
  metric: number;
  /** The value of what is reversed. */
  whole: number;
  micros: number;
  /** When the event at the root happened, and the user's local day (epoch day) of that. */
  occurredMs: number;
  occurredDay: number;
  /** The local day (epoch day) of what it awarded: a late event awards when it comes. */
  day: number;
  /** Event attributes, JSON; left out: none. */
  attributes?: string;
  /** The user's streaks and freezes with it, see `lua/lib/take_replay.lua`; and what of the stored changes no longer holds. */
  replayed: Replayed;
  superseded: string[];
  repairs: number[][];
  /** Numbers of the achievements and triggers that counted the event. */
  counted: number[];
  /** What is taken, negative where it is given. */
  awards: Compensated[];
  revoked: Revocation[];
  restored: PackedCompletion[];
  /** Runs that are not final in which the event counted. */
  boards: BoardMove[];
}

/** What is added to a user's score in a run. */
export interface BoardMove {
  board: PlanBoard;
  /** First day of the run, epoch day. */
  run: number;
  /** On boards of the metric. */
  whole?: number;
  micros?: number;
  /** On boards of points: the number of the system whose points are taken or given. */
  system?: number;
}

/** An achievement that goes, unless the user still has what it takes; and what it awarded beyond what the event itself did. */
export interface Revocation {
  achievement: PlanAchievement;
  awards: Compensated[];
}

export interface PlannedReversal {
  expected: string;
  replay: StreakReplay;
  /** The event at the root, and what is reversed. */
  root: StoredEvent;
  reversed: string;
  voids: boolean;
  awards: Compensated[];
  revoked: Revocation[];
  restored: PackedCompletion[];
  /** The user's zone; null: UTC. */
  tz: string | null;
  nowMs: number;
}

/** Makes the plan of a reversal from what is stored. Pure. */
export function reversalPlan(compiled: CompiledCatalog, planned: PlannedReversal): ReversalPlan {
  const { root, voids, reversed, awards, revoked, restored, expected, replay } = planned;
  const value = parseDecimal(root.value);
  const sign = voids ? 1 : -1;
  return {
    expected,
    root: root.id,
    reversed,
    voids,
    metric: root.metricNo,
    whole: sign * value.whole,
    micros: sign * value.micros,
    occurredMs: root.occurredMs,
    occurredDay: dayOf(root.localDate),
    day: awardDay(planned),
    ...(root.attributes !== null && { attributes: JSON.stringify(root.attributes) }),
    replayed: replayed(replay),
    ...repairsOf(replay),
    counted: countedBy(compiled, root),
    awards,
    revoked,
    restored,
    boards: boardMoves(compiled, planned, { whole: -sign * value.whole, micros: -sign * value.micros }),
  };
}

const awardDay = ({ root, tz }: Pick<PlannedReversal, 'root' | 'tz'>): number =>
  root.occurredMs === root.atMs ? dayOf(root.localDate) : dayIn(tz, root.atMs);

/**
 * Who counted the event, by the conditions of now: achievements, whose counts hold all history, and triggers that were there
 * already.
 */
function countedBy(compiled: CompiledCatalog, { metricNo, attributes, atMs }: StoredEvent): number[] {
  if (attributes === null) return [];
  const metric = compiled.catalog.metrics.find(({ no }) => no === metricNo);
  const counters = metric === undefined ? [] : (compiled.plan(metric.key, Math.floor(atMs / DAY_MS))?.counters ?? []);
  const since = new Map(compiled.catalog.triggers.map(({ no, created }) => [no, created]));
  return counters
    .filter(({ no }) => (since.get(no) ?? 0) <= atMs)
    .filter(({ conditions }) => conditions.every(([key, wanted]) => attributes[key] === wanted))
    .map(({ no }) => no);
}

/**
 * The runs that are not final, of boards of the event's metric that contain its local day, and of boards of the points that
 * it earned.
 */
function boardMoves(
  compiled: CompiledCatalog,
  { root, awards, revoked, tz, nowMs }: PlannedReversal,
  { whole, micros }: { whole: number; micros: number },
): BoardMove[] {
  const taken = [...awards, ...revoked.flatMap((each) => each.awards)];
  const systems = new Set(taken.map((award) => award[COMPENSATED.system]));
  const moves: BoardMove[] = [];
  for (const board of compiled.catalog.leaderboards) {
    const ofMetric = isOfMetric(compiled, board, root);
    if (board.status === 'inactive' || (!ofMetric && board.rankBy !== 'points')) continue;
    const run = runOf(playedRule(board), ofMetric ? dayOf(root.localDate) : awardDay({ root, tz }));
    if (run === null || (run.endDay !== null && nowMs >= finalMs(run.endDay))) continue;
    const planBoard = compileBoard(compiled, board, { metric: null, days: [] });
    if (!insideWindow(planBoard, secondOfDay(tz, ofMetric ? root.occurredMs : root.atMs))) continue;
    const at = { board: planBoard, run: run.startDay };
    if (ofMetric) moves.push({ ...at, whole, micros });
    else if (planBoard.system !== undefined && systems.has(planBoard.system))
      moves.push({ ...at, system: planBoard.system });
  }
  return moves;
}

const isOfMetric = (compiled: CompiledCatalog, { rankBy, metricId }: Leaderboard, { metricNo }: StoredEvent): boolean =>
  rankBy === 'metric' && compiled.catalog.metrics.some(({ id, no }) => id === metricId && no === metricNo);

/** The second of the local day, as it is in the user's zone of now. */
function secondOfDay(tz: string | null, atMs: number): number {
  const offset = tz === null ? 0 : (zoneOffset(tz, atMs)?.offsetSeconds ?? 0);
  return (((Math.floor(atMs / 1000) + offset) % 86_400) + 86_400) % 86_400;
}

/** As `lua/lib/score_boards.lua` has it. */
function insideWindow({ from = 0, to = 86_400 }: PlanBoard, second: number): boolean {
  return from <= to ? second >= from && second < to : second >= from || second < to;
}
