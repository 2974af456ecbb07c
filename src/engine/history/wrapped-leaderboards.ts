import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { boardStatus, runOf } from '../../domain/runs.ts';
import type { WrappedLeaderboard } from '../../domain/wrapped.ts';
import type { Days } from '../../postgres/history/user-attribute-sums.ts';
import { boardKey } from '../../redis/keys.ts';
import type { UserState } from '../../redis/state.ts';
import { leaderboardResponse } from '../leaderboards/leaderboard-response.ts';

/** The user's place on a board in one run. */
interface Place {
  key: string;
  /** First and last epoch day; no last one: the run does not end. */
  runDay: number;
  endDay: number | null;
  shown: WrappedLeaderboard;
}

/**
 * The boards on which a user has a rank, with the runs that are not final yet: what Redis holds. A perpetual board
 * has one run, so its rank is today's.
 */
export async function userPlaces(
  redis: Redis,
  compiled: CompiledCatalog,
  { state, utcDay }: { state: UserState; utcDay: number },
): Promise<Place[]> {
  const { tenantNo, leaderboards } = compiled.catalog;
  const scored = leaderboards
    .filter(({ status }) => status !== 'inactive')
    .flatMap((board) => (state.boards[board.no] ?? []).map((score) => ({ board, ...score })))
    .filter(({ score }) => Number(score) > 0);
  if (scored.length === 0) return [];
  const counts = redis.pipeline();
  for (const { board, runDay, group, score } of scored) {
    counts.zcount(boardKey(tenantNo, { boardNo: board.no, runDay, group }), `(${Number(score)}`, '+inf');
  }
  const replies = (await counts.exec()) ?? [];
  return scored.flatMap(({ board, runDay, score }, index) => {
    const [error, above] = replies[index] ?? [];
    if (error) throw error;
    const rank = 1 + Number(above);
    const run = runOf(board, runDay);
    const status = boardStatus(board, utcDay);
    if (run === null || status === null || (board.maxParticipants !== null && rank > board.maxParticipants)) return [];
    const shown = { ...leaderboardResponse(compiled, board), status, rank, value: Number(score) };
    return [{ key: board.key, runDay, endDay: run.endDay, shown }];
  });
}

/** The best place on each board in a run that was on in some days, by the board's key. */
export function wrappedLeaderboards(
  places: readonly Place[],
  { fromDay, toDay }: Days,
): Record<string, WrappedLeaderboard> {
  const best = new Map<string, WrappedLeaderboard>();
  for (const { key, runDay, endDay, shown } of places) {
    if (runDay > toDay || (endDay !== null && endDay < fromDay)) continue;
    if ((shown.rank ?? Infinity) < (best.get(key)?.rank ?? Infinity)) best.set(key, shown);
  }
  return Object.fromEntries(best);
}
