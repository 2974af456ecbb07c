import type { Pool } from 'pg';
import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { clamped, decimalOfMicros, type Micros, microsOf, toMicros } from '../../domain/decimal.ts';
import { floorOf, foldOf, NO_SCORE, turned } from '../../domain/leaderboard.ts';
import { dayOf } from '../../domain/periods.ts';
import type { Fold } from '../../domain/rule-kinds.ts';
import { playedRule, runOf } from '../../domain/runs.ts';
import { secondaryOf } from '../../domain/secondary-score.ts';
import { HISTORY_SUM } from '../../packed/call-fields.ts';
import { emptyHistorySum, historySum } from '../../packed/packed-arrays.ts';
import type { HistorySum } from '../../packed/state.ts';
import { type CountedMetric, historySums } from '../../postgres/boards/past-scores.ts';
import { reachedIn, scoreIn, secondaryIn } from '../../rules/leaderboards.ts';
import type { User } from '../../rules/user.ts';
import { boardHistory, offsetsOf } from '../leaderboards/board-history.ts';
import { isOfMetric, type PlannedReversal } from './planned-reversal.ts';

/**
 * The scores that change once the event is reversed, or counts again, by number of the board: of boards of the metric that
 * are not of the highest sum, in the event's run. The next best value is looked for only if the event holds the score, since
 * the event that holds it may have been dropped.
 */
export async function scoresAfter(
  pool: Pool,
  compiled: CompiledCatalog,
  { root, voids, user, nowMs }: Pick<PlannedReversal, 'root' | 'voids' | 'nowMs'> & { user: User },
): Promise<Map<number, HistorySum>> {
  const scores = new Map<number, HistorySum>();
  const { tenantNo, leaderboards } = compiled.catalog;
  const { userId } = root;
  for (const board of leaderboards) {
    const run = runOf(playedRule(board), dayOf(root.localDate));
    if (floorOf(board) === 0 || !isOfMetric(compiled, board, root) || run === null) continue;
    const { counted, window } = boardHistory(compiled, board, nowMs);
    const planBoard = compileBoard(compiled, board, { metric: null, days: [] });
    const inRun = { board: board.no, runDay: run.startDay };
    const score = scoreIn(user, inRun);
    const secondary = secondaryIn(user, planBoard, run.startDay);
    const current = score && { micros: microsOf(score), reached: reachedIn(user, inRun), secondary: secondary ?? 0 };
    const fold = foldOf(board);
    const value = BigInt(turned(board, 1)) * toMicros(root.value);
    const attributes = root.attributes === null ? '' : JSON.stringify(root.attributes);
    const sent = planBoard.secondary === undefined ? 0 : secondaryOf(attributes, planBoard.secondary);
    const event = { value, occurredMs: root.occurredMs, secondary: sent };
    if (voids && current !== undefined && fold !== null && !holdsScore(current, fold, event)) continue;
    const [sums] = await historySums(pool, {
      tenantNo,
      ids: [userId],
      // Of a sum, only whether an event remains is asked, and when it was reached.
      counted:
        board.ties === 'first' ? (counted as CountedMetric) : { ...(counted as CountedMetric), fold: fold ?? 'last' },
      runDays: [run.startDay],
      lastDay: run.endDay,
      times: window && { ...window, offsets: offsetsOf([{ userId, tz: user.zone }], { fromDay: run.startDay, nowMs }) },
      changed: voids ? { removed: root.id } : { added: root.id },
    });
    const remains = sums?.sums[0] ?? emptyHistorySum(run.startDay, NO_SCORE);
    if (fold === null) {
      const sum = (current?.micros ?? 0n) + (voids ? -value : value);
      // No event remains.
      const reached = remains[HISTORY_SUM.reached] ?? 0;
      const isEmpty = sum === 0n && reached === 0;
      scores.set(
        board.no,
        isEmpty
          ? emptyHistorySum(run.startDay, NO_SCORE)
          : historySum(run.startDay, { ...clamped(decimalOfMicros(sum)), reached }),
      );
    } else if (voids || current === undefined || !isBetter(current, fold, remains)) scores.set(board.no, remains);
  }
  return scores;
}

interface HeldScore {
  micros: Micros;
  reached: number;
  secondary: number;
}

/** Whether an event with this value may be the one that holds a score. */
function holdsScore(
  { micros, reached, secondary }: HeldScore,
  fold: Fold,
  event: { value: Micros; occurredMs: number; secondary: number },
): boolean {
  // A score may have a later time than its event, if a clock went back.
  return (
    (fold === 'last' && reached < 1000 * (event.occurredMs + 1)) ||
    (micros === event.value && secondary === event.secondary)
  );
}

/** Whether a score is better, or later, than the best that is stored. */
function isBetter({ micros, reached, secondary }: HeldScore, fold: Fold, stored: HistorySum): boolean {
  if (fold === 'last') return reached > (stored[HISTORY_SUM.reached] ?? 0);
  const best = microsOf({ whole: stored[HISTORY_SUM.whole], micros: stored[HISTORY_SUM.micros] });
  if (micros === best) return secondary > (stored[HISTORY_SUM.secondary] ?? 0);
  return fold === 'max' ? micros > best : micros < best;
}
