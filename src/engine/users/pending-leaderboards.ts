import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { runOf } from '../../domain/runs.ts';
import type { UserState } from '../../packed/state.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { groupName } from '../../domain/group.ts';

/** The group of a board with a breakdown that a user's attributes say; null without one of the values. */
export function groupOfUser(
  compiled: CompiledCatalog,
  { breakdownAttributes }: Leaderboard,
  { attributes }: Pick<UserState, 'attributes'>,
): string | null {
  const values = breakdownAttributes.map((id) => attributes[compiled.attributesById.get(id)?.no ?? 0]);
  return values.includes(undefined) ? null : groupName(values as string[]);
}

/**
 * The keys of the leaderboards with a breakdown on whose current run the user's score is in another group than the user's
 * attributes say: the user's next event moves it. A run counts as current from a day before its first day to a day after its
 * last, for it is today somewhere. O(leaderboards).
 */
export function pendingLeaderboards(compiled: CompiledCatalog, state: UserState, nowMs: number): string[] {
  const today = Math.floor(nowMs / DAY_MS);
  return compiled.catalog.leaderboards.flatMap((board) => {
    if (board.breakdownAttributes.length === 0 || (board.status !== 'active' && board.status !== 'scheduled'))
      return [];
    const current = new Set([today - 1, today, today + 1].map((day) => runOf(board, day)?.startDay));
    const scores = (state.boards[board.no] ?? []).filter(({ runDay }) => current.has(runDay));
    const group = groupOfUser(compiled, board, state);
    return scores.some((score) => score.group !== group) ? [board.key] : [];
  });
}
