/** Which final runs would have another result if an event is reversed. They do not change; an administrator may want to know. */
import type { Pool } from 'pg';
import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { UnchangedRun } from '../../domain/administration/reversal.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { ranksOf } from '../../domain/fields/rank.ts';
import { floorOf, foldOf, NO_SCORE, turned } from '../../domain/leaderboard.ts';
import { dateOf, dayOf } from '../../domain/periods.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { HISTORY_SUM } from '../../packed/call-fields.ts';
import type { HistorySum } from '../../packed/state.ts';
import {
  countBetter,
  type FinalPlace,
  finalPlaces,
  type FinalScore,
  wasReversed,
} from '../../postgres/corrections/final-places.ts';
import type { StoredEvent } from '../../postgres/corrections/reversals.ts';
import { isInside } from '../../rules/leaderboards.ts';
import { rankRewardsOf } from '../notifications/payloads.ts';

/** What a reversal changes, as far as final runs would notice. */
export interface Correction {
  root: StoredEvent;
  nowMs: number;
  isOfMetric: (board: Leaderboard) => boolean;
  /** The second of the user's local day at a time. */
  secondAt: (atMs: number) => number;
  /** By number of the board: the score without the event, on boards other than those of sums. */
  scores: ReadonlyMap<number, HistorySum>;
  /** Points that are taken, with the local day and time of the award. */
  taken: readonly { system: number; points: number; day: number; atMs: number }[];
}

interface EndedRun {
  board: Leaderboard;
  runDay: number;
  /** The score without the event, from the final one, as in sorted sets: greater is better. `null` if none is left. */
  scoreAfter: (place: FinalPlace) => FinalScore | null;
}

/**
 * The final runs in which an event counted, and in which the user would have another rank or other rewards without it, oldest first.
 * Leaderboards of streaks are not considered. Reads each such run's group of the user.
 */
export async function finalRunsWithout(
  pool: Pool,
  compiled: CompiledCatalog,
  correction: Correction,
): Promise<UnchangedRun[]> {
  const { tenantNo } = compiled.catalog;
  const { userId } = correction.root;
  const ended = endedRuns(compiled, correction);
  const runs = ended.map(({ board, runDay }) => ({ boardNo: board.no, runDay }));
  const unchanged: UnchangedRun[] = [];
  for (const place of await finalPlaces(pool, tenantNo, userId, runs)) {
    const { board, scoreAfter } = ended.find((one) => one.board.no === place.boardNo && one.runDay === place.runDay)!;
    if (await wasReversed(pool, correction.root.id, finalMs(place.lastDay))) continue;
    const score = scoreAfter(place);
    const better = score && (await countBetter(pool, place.groupId, { userId, sign: turned(board, 1), ...score }));
    const rank = place.participates ? place.rank : null;
    const isOn = better !== null && better < (board.maxParticipants ?? Infinity);
    const rankWithout = isOn ? better + 1 : null;
    if (rank === rankWithout) continue;
    unchanged.push({
      leaderboardKey: board.key,
      start: dateOf(place.runDay),
      end: dateOf(place.lastDay),
      rank,
      rankWithout,
      rewards: rankRewardsOf(compiled, place, { seesSecrets: true }),
      rewardsDiffer: rulesFor(place, rank) !== rulesFor(place, rankWithout),
    });
  }
  return unchanged;
}

/** The rules that reward a rank, as text. */
const rulesFor = ({ rules, participants }: FinalPlace, rank: number | null): string =>
  rules
    .filter((rule) => {
      const { first, last } = ranksOf(rule, participants);
      return rank !== null && rank >= first && rank <= last;
    })
    .map(({ no }) => no)
    .join();

/** Runs that ended after the event, or the award, had counted in them. */
function endedRuns(compiled: CompiledCatalog, correction: Correction): EndedRun[] {
  const { root, nowMs, isOfMetric, scores, secondAt, taken } = correction;
  const ended: EndedRun[] = [];
  for (const board of compiled.catalog.leaderboards) {
    const ofMetric = isOfMetric(board);
    if (!ofMetric && board.rankBy !== 'points') continue;
    const rule = playedRule(board);
    const planBoard = compileBoard(compiled, board, { metric: null, days: [] });
    /** The first day of the run that contains `day` and ended after `countedMs`; `null` if it has not ended. */
    const runOn = (
      day: number,
      { countedMs, happenedMs }: { countedMs: number; happenedMs: number },
    ): number | null => {
      const run = runOf(rule, day);
      if (run === null || run.endDay === null || nowMs < finalMs(run.endDay) || countedMs >= finalMs(run.endDay))
        return null;
      return isInside(planBoard, secondAt(happenedMs)) ? run.startDay : null;
    };
    if (ofMetric) {
      const runDay = runOn(dayOf(root.localDate), { countedMs: root.atMs, happenedMs: root.occurredMs });
      if (runDay !== null)
        ended.push({ board, runDay, scoreAfter: (place) => metricScore(board, root, scores, place) });
      continue;
    }
    const byRun = new Map<number, number>();
    for (const { system, points, day, atMs } of taken) {
      const runDay = system === planBoard.system ? runOn(day, { countedMs: atMs, happenedMs: atMs }) : null;
      if (runDay !== null) byRun.set(runDay, (byRun.get(runDay) ?? 0) + points);
    }
    for (const [runDay, points] of byRun)
      ended.push({ board, runDay, scoreAfter: (place) => sumScore(board, place, -points) });
  }
  return ended;
}

function metricScore(
  board: Leaderboard,
  root: StoredEvent,
  scores: ReadonlyMap<number, HistorySum>,
  place: FinalPlace,
): FinalScore | null {
  const rest = scores.get(board.no);
  if (rest !== undefined && rest[HISTORY_SUM.whole] === NO_SCORE) return null;
  if (foldOf(board) === null) return sumScore(board, place, turned(board, -Number(root.value)));
  // Another event holds the score.
  if (rest === undefined) return { ...place, score: turned(board, place.score) };
  return {
    score: rest[HISTORY_SUM.whole] + rest[HISTORY_SUM.micros] / 1e6,
    reached: place.reached === null ? null : (rest[HISTORY_SUM.reached] ?? place.reached),
    secondary: rest[HISTORY_SUM.secondary] ?? 0,
  };
}

function sumScore(
  board: Leaderboard,
  { score: before, reached, secondary }: FinalPlace,
  change: number,
): FinalScore | null {
  const score = Math.round((turned(board, before) + change) * 1e6) / 1e6;
  return score <= floorOf(board) ? null : { score, reached, secondary };
}
