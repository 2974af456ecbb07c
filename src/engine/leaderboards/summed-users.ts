import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { clamped, decimalNumber } from '../../domain/decimal.ts';
import { groupName } from '../../domain/group.ts';
import type { HistorySums, PastScore } from '../../postgres/boards/past-scores.ts';
import { decodeState } from '../../packed/state.ts';
import { HISTORY_SUM } from '../../packed/call-fields.ts';
import { emptyHistorySum, type HistorySum } from '../../packed/packed-arrays.ts';

/** What a user has earned on a board: in past runs, and in those that Redis holds. */
export interface SummedUser {
  id: string;
  /** The packed state that belongs to it. */
  state: Buffer;
  past: HistorySum[];
  /** Null: nothing, and there is no score to be taken away. */
  open: HistorySum[] | null;
}

/** Parts what a user earned by the first run that Redis holds (null: none). Previous scores without a source are set to 0. */
export function summed(
  { id, state, sums }: HistorySums,
  { boardNo, openRunDay }: { boardNo: number; openRunDay: number | null },
): SummedUser {
  const past = sums.filter(
    (sum) =>
      (openRunDay === null || sum[HISTORY_SUM.runDay] < openRunDay) &&
      (sum[HISTORY_SUM.whole] > 0 || sum[HISTORY_SUM.micros] > 0),
  );
  if (openRunDay === null) return { id, state, past, open: null };
  const open = sums.filter((sum) => sum[HISTORY_SUM.runDay] >= openRunDay);
  for (const { runDay } of decodeState(state).boards[boardNo] ?? [])
    if (runDay >= openRunDay && !open.some((sum) => sum[HISTORY_SUM.runDay] === runDay))
      open.push(emptyHistorySum(runDay));
  return { id, state, past, open: open.length === 0 ? null : open };
}

/** The scores of past runs, in the groups that the users are in now; one who lacks a value, or is hidden, is in none. */
export function pastScores(compiled: CompiledCatalog, board: Leaderboard, users: readonly SummedUser[]): PastScore[] {
  const nos = board.breakdownAttributes.map((id) => compiled.attributesById.get(id)?.no ?? 0);
  return users
    .filter(({ past }) => past.length > 0)
    .flatMap(({ id, state, past }) => {
      const { attributes, hidden } = decodeState(state);
      const values = nos.map((no) => attributes[no]);
      if (hidden !== 0 || values.includes(undefined)) return [];
      const group = groupName(values as string[]);
      return past.map((sum) => ({
        userId: id,
        runDay: sum[HISTORY_SUM.runDay],
        group,
        score: decimalNumber(clamped({ whole: sum[HISTORY_SUM.whole], micros: sum[HISTORY_SUM.micros] })),
      }));
    });
}
