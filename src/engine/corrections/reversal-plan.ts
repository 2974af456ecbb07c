import type { PoolClient } from 'pg';
import { compileAchievement } from '../../catalog/compile/achievements.ts';
import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { PlanAchievement, PlanBoard } from '../../catalog/plan.ts';
import { pointsLimits } from '../../catalog/compile/points.ts';
import type { Achievement, Leaderboard } from '../../domain/catalog.ts';
import { parseDecimal } from '../../domain/decimal.ts';
import { dayOf } from '../../domain/periods.ts';
import type { StreakReplay } from '../../domain/streaks/replay.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { dayIn, zoneOffset } from '../../domain/zone.ts';
import { COMPENSATED } from '../../packed/record-fields.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import {
  readAwardsOf,
  readCompletions,
  type StoredCompletion,
  type StoredEvent,
} from '../../postgres/corrections/reversals.ts';
import { repairsOf, replayed, type Replayed } from './packed-replay.ts';

/** The argument of `lua/reverse_event.lua`, which uses these names. */
export interface ReversalPlan {
  /** See `stateDigest`. */
  expected: string;
  /** 32 hex digits. `root`: the original event. `reversed`: that event, or its last reversal. */
  root: string;
  reversed: string;
  /** True if the original event stops counting; false if it counts again. */
  voids: boolean;
  metric: number;
  /** The value of the reversed event. */
  whole: number;
  micros: number;
  /** When the original event happened, and the user's local day (epoch day) then. */
  occurredMs: number;
  occurredDay: number;
  /** The local day (epoch day) of its awards. A late event awards on the day on which it arrives. */
  day: number;
  /** Event attributes as JSON; omitted if there are none. */
  attributes?: string;
  /** The user's streaks and freezes after the reversal (`lua/lib/replay.lua`), and the stored changes that no longer hold. */
  replayed: Replayed;
  superseded: string[];
  repairs: number[][];
  /** Numbers of the achievements and triggers that counted the event. */
  counted: number[];
  /** Points to take; negative if they are given back. */
  awards: Compensated[];
  /** IDs of awards that stay unchanged because another reversal in force has already taken them. */
  held: string[];
  /** Maximum points of the systems, by number. */
  limits: Record<number, number>;
  revoked: Revocation[];
  restored: PackedCompletion[];
  /** Changes in the non-final runs in which the event counted. */
  boards: BoardMove[];
}

export function reversalPlan(compiled: CompiledCatalog, planned: PlannedReversal): ReversalPlan {
  const { root, voids, reversed, counted, awards, held, revoked, restored, expected, replay } = planned;
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
    counted,
    awards,
    held,
    limits: pointsLimits(compiled.catalog),
    revoked,
    restored,
    boards: boardMoves(compiled, planned, { whole: -sign * value.whole, micros: -sign * value.micros }),
  };
}

/** An achievement to revoke unless the user still qualifies, and its awards that the event itself does not include. */
interface Revocation {
  achievement: PlanAchievement;
  awards: Compensated[];
}

/** The stored data that a reversal is built from, and its replay. */
export interface PlannedReversal {
  expected: string;
  replay: StreakReplay;
  root: StoredEvent;
  reversed: string;
  voids: boolean;
  /** See `ReversalPlan`. */
  counted: number[];
  awards: Compensated[];
  held: string[];
  revoked: Revocation[];
  restored: PackedCompletion[];
  /** The user's zone; `null` means UTC. */
  tz: string | null;
  nowMs: number;
}

interface BoardMove {
  board: PlanBoard;
  /** First day of the run (epoch day). */
  run: number;
  /** On boards of the metric. */
  whole?: number;
  micros?: number;
  /** On boards of points: 32 hex digits of each award whose points are taken or given back. */
  awards?: string[];
}

/** The local day (epoch day) of an event's awards. A late event awards on the day on which it arrives. */
const awardDay = ({ root, tz }: Pick<PlannedReversal, 'root' | 'tz'>): number =>
  root.occurredMs === root.atMs ? dayOf(root.localDate) : dayIn(tz, root.atMs);

/** Changes in runs that are not final: of the event's local day on metric boards, of the awards on points boards. */
function boardMoves(
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
    /** The first day (epoch day) of the open run that contains a time; `null` if there is none. */
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

/** The awards that may be taken or given back, with day and time: a composite may have awarded days after the event. */
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

/** The second of the local day in the user's current zone. */
function secondOfDay(tz: string | null, atMs: number): number {
  const offset = tz === null ? 0 : (zoneOffset(tz, atMs)?.offsetSeconds ?? 0);
  return (((Math.floor(atMs / 1000) + offset) % 86_400) + 86_400) % 86_400;
}

/** The same rule as in `lua/lib/board_scores.lua`. */
function insideWindow({ from = 0, to = 86_400 }: PlanBoard, second: number): boolean {
  return from <= to ? second >= from && second < to : second >= from || second < to;
}

/** The achievements that a reversal revokes, each before those that require it. These are the achievements that the
 * event completed, those completed by reversed events for which this event may still have qualified the user, and
 * composites that require one of them, whenever completed. `awards`: the event's own awards.
 */
export async function revocationsOf(
  client: PoolClient,
  compiled: CompiledCatalog,
  { event, awards }: { event: StoredEvent; awards: readonly Compensated[] },
): Promise<Revocation[]> {
  const { tenantNo, triggers, pointsSystems } = compiled.catalog;
  const { userId } = event;
  const completions = await readCompletions(client, tenantNo, event);
  const completed = new Map(completions.map((completion) => [completion.achievementNo, completion]));
  const gone = cascade(compiled, event, completed);
  const ids = new Set(gone.map(({ id }) => id));
  const systemNos = new Map(pointsSystems.map(({ id, no }) => [id, no]));
  const paying = triggers.filter(
    ({ type, achievementId }) => type === 'achievement' && achievementId !== null && ids.has(achievementId),
  );
  const others = await readAwardsOf(client, {
    tenantNo,
    userId,
    triggers: paying.map(({ no, systemId }) => ({ no, systemNo: systemNos.get(systemId) ?? 0 })),
    timesMs: gone.map(({ no }) => completed.get(no)!.atMs),
  });
  const own = new Set(awards.map((award) => award[COMPENSATED.award]));
  const paidBy = new Map(paying.map(({ no, achievementId }) => [no, achievementId]));
  return gone.map((achievement) => ({
    achievement: compileAchievement(compiled, achievement),
    awards: others.filter(
      (award) => !own.has(award[COMPENSATED.award]) && paidBy.get(award[COMPENSATED.trigger]) === achievement.id,
    ),
  }));
}

function cascade(
  { catalog }: CompiledCatalog,
  event: StoredEvent,
  completed: ReadonlyMap<number, StoredCompletion>,
): Achievement[] {
  const metricId = catalog.metrics.find(({ no }) => no === event.metricNo)?.id;
  const gone = catalog.achievements.filter(({ no, trigger, metricId: counted }) => {
    const completion = completed.get(no);
    const ofMetric = trigger === 'metric' && counted === metricId;
    return completion?.ofEvent === true && (ofMetric || trigger === 'streak');
  });
  const ids = new Set(gone.map(({ id }) => id));
  for (let more = gone; more.length > 0;) {
    more = catalog.achievements.filter(
      ({ no, id, trigger, achievementIds }) =>
        trigger === 'achievement' &&
        !ids.has(id) &&
        completed.has(no) &&
        achievementIds.some((needed) => ids.has(needed)),
    );
    for (const achievement of more) {
      gone.push(achievement);
      ids.add(achievement.id);
    }
  }
  return gone;
}
