import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { playedRule, runOf } from '../../domain/runs.ts';
import { boardsInProgress, type BoardProgress } from '../../postgres/boards/progress.ts';
import { unclearedRuns } from '../../postgres/boards/sets.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { boardGroupsKey, boardKey, shardOf } from '../../redis/keys.ts';

/**
 * The sorted sets of a tenant's boards that Redis holds, of all runs that are not cleared, whatever their members; maybe
 * some that are not there. What deleted boards left is not among them: that goes as a whole (`StraySets`). The
 * cost does not depend on how many users there are: to look for them among all keys took 0.55 s with a million.
 */
export async function setsOfBoards(
  { redis, pool, clock }: { redis: Redis; pool: Pool; clock: Clock },
  tenantNo: number,
): Promise<string[]> {
  // The youngest local date that there is, and a day for clocks that differ.
  const newest = Math.floor(clock.now() / DAY_MS) + 2;
  const [boards, uncleared] = await Promise.all([boardsInProgress(pool, tenantNo), unclearedRuns(pool, tenantNo)]);
  const runs = [...boards.flatMap((progress) => openRuns(progress, newest)), ...uncleared];
  const pipeline = connectionOf(redis, shardOf(tenantNo)).pipeline();
  for (const run of runs) pipeline.smembers(boardGroupsKey(tenantNo, run));
  const replies = (await pipeline.exec()) ?? [];
  const sets = new Set<string>();
  for (const [index, [error, groups]] of replies.entries()) {
    if (error) throw error;
    for (const group of ['', ...(groups as string[])]) sets.add(boardKey(tenantNo, { ...runs[index]!, group }));
  }
  return [...sets];
}

/** The runs of a board that are not final, up to a day. */
function openRuns({ board, nextRunDay }: BoardProgress, newest: number): { boardNo: number; runDay: number }[] {
  const runs: { boardNo: number; runDay: number }[] = [];
  const rule = playedRule(board);
  for (let day = nextRunDay; day !== null && day <= newest;) {
    const run = runOf(rule, day);
    if (run === null) break;
    runs.push({ boardNo: board.no, runDay: run.startDay });
    day = run.endDay === null ? null : run.endDay + 1;
  }
  return runs;
}
