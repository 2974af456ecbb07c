import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { clamped, decimalNumber } from '../../domain/decimal.ts';
import { groupName } from '../../domain/group.ts';
import type { HistorySums } from '../../postgres/boards/history-sums.ts';
import type { PastScore } from '../../postgres/boards/past-scores.ts';
import { decodeState } from '../../packed/state.ts';

type Sum = [runDay: number, whole: number, micros: number];

/** What a user has earned on a board: in past runs, and in those that Redis holds. */
export interface SummedUser {
  id: string;
  /** The packed state that belongs to it. */
  state: Buffer;
  past: Sum[];
  /** Null: nothing, and there is no score to be taken away. */
  open: Sum[] | null;
}

/** Parts what a user earned by the first run that Redis holds (null: none). Previous scores without a source are set to 0. */
export function summed(
  { id, state, sums }: HistorySums,
  { boardNo, openRunDay }: { boardNo: number; openRunDay: number | null },
): SummedUser {
  const past = sums.filter(
    ([runDay, whole, micros]) => (openRunDay === null || runDay < openRunDay) && (whole > 0 || micros > 0),
  );
  if (openRunDay === null) return { id, state, past, open: null };
  const open = sums.filter(([runDay]) => runDay >= openRunDay);
  for (const { runDay } of decodeState(state).boards[boardNo] ?? [])
    if (runDay >= openRunDay && !open.some(([day]) => day === runDay)) open.push([runDay, 0, 0]);
  return { id, state, past, open: open.length === 0 ? null : open };
}

/** The scores of past runs, in the groups that the users are in now; one who lacks a value is in none. */
export function pastScores(compiled: CompiledCatalog, board: Leaderboard, users: readonly SummedUser[]): PastScore[] {
  const nos = board.breakdownAttributes.map((id) => compiled.attributesById.get(id)?.no ?? 0);
  return users
    .filter(({ past }) => past.length > 0)
    .flatMap(({ id, state, past }) => {
      const { attributes } = decodeState(state);
      const values = nos.map((no) => attributes[no]);
      if (values.includes(undefined)) return [];
      const group = groupName(values as string[]);
      return past.map(([runDay, whole, micros]) => ({
        userId: id,
        runDay,
        group,
        score: decimalNumber(clamped({ whole, micros })),
      }));
    });
}
