import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Days } from '../../domain/periods.ts';
import { boardStatus, runOf } from '../../domain/runs.ts';
import type { WrappedLeaderboard } from '../../domain/wrapped.ts';
import { boardKey } from '../../redis/keys.ts';
import type { UserState } from '../../packed/state.ts';
import type { PastPlace, PastRuns } from '../leaderboards/past-runs.ts';
import { LiveStandings } from '../leaderboards/standings.ts';
import { leaderboardResponse } from '../responses/leaderboard-response.ts';

/** The user's place on a board in one run. */
export interface Place {
  key: string;
  /** First and last epoch day; no last one: the run does not end. */
  runDay: number;
  endDay: number | null;
  shown: WrappedLeaderboard;
}

/**
 * The boards on which a user has or had a rank, in all runs: those that are final as they ended, the others as they
 * are now. A perpetual board has one run, so its rank is today's.
 */
export async function userPlaces(
  { redis, past }: { redis: Redis; past: PastRuns },
  compiled: CompiledCatalog,
  { userId, state, utcDay }: { userId: string; state: UserState; utcDay: number },
): Promise<Place[]> {
  const { tenantNo } = compiled.catalog;
  const live = Object.entries(state.boards).flatMap(([no, scores]) =>
    scores.filter(({ score }) => Number(score) > 0).map((score) => ({ boardNo: Number(no), ...score })),
  );
  const [ended, kept] = await Promise.all([past.places(tenantNo, userId), past.kept(tenantNo, live)]);
  const current = await Promise.all(
    live.filter((score) => !kept.has(score)).map((score) => livePlace(redis, compiled, { userId, ...score })),
  );
  return [...ended, ...current.flatMap((place) => place ?? [])].flatMap(({ boardNo, runDay, rank, value }) => {
    const board = compiled.leaderboardsByNo.get(boardNo);
    const status = board === undefined ? null : boardStatus(board, utcDay);
    const run = board === undefined ? null : runOf(board, runDay);
    if (board === undefined || run === null || status === null || rank === null) return [];
    const shown = { ...leaderboardResponse(compiled, board), status, rank, value };
    return [{ key: board.key, runDay, endDay: run.endDay, shown }];
  });
}

async function livePlace(
  redis: Redis,
  { catalog, leaderboardsByNo }: CompiledCatalog,
  { userId, boardNo, runDay, group }: { userId: string; boardNo: number; runDay: number; group: string },
): Promise<PastPlace | null> {
  const max = leaderboardsByNo.get(boardNo)?.maxParticipants ?? null;
  const found = await new LiveStandings(redis, boardKey(catalog.tenantNo, { boardNo, runDay, group }), max).find(
    userId,
  );
  return found && { boardNo, runDay, rank: found.rank, value: found.score };
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
