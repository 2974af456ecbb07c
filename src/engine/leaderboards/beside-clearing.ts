import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { groupsOf } from '../../postgres/boards/final-runs.ts';
import { clearedRuns } from '../../postgres/users/stored-states.ts';
import type { RunOfPlan } from '../../rules/teams.ts';
import { clearRun } from './runs.ts';

/** Whether Redis no longer has the sets of a run, so that a change must not write to them. */
export type IsCleared = (run: RunOfPlan) => boolean;

/**
 * Makes a change of users that knows which runs were cleared before. If a run is cleared while the change is being made, the change may have
 * written to its sets again, which nobody reads: they are removed afterwards. If this process ends before that, the daily scan for stray
 * sets removes them.
 */
export async function besideClearing<T>(
  servers: { redis: Redis; pool: Pool },
  tenantNo: number,
  change: (isCleared: IsCleared) => Promise<T>,
): Promise<T> {
  const cleared = await clearedRuns(servers.pool, tenantNo);
  const isCleared: IsCleared = ({ board, runDay }) => cleared.get(board)?.has(runDay) === true;
  try {
    return await change(isCleared);
  } finally {
    // Also after an error, because a call that failed may have written. The outcome of the change does not depend on this.
    await clearAgain(servers, tenantNo, isCleared).catch(() => undefined);
  }
}

/** Clears the runs that have been cleared since. */
async function clearAgain(
  { redis, pool }: { redis: Redis; pool: Pool },
  tenantNo: number,
  wasCleared: IsCleared,
): Promise<void> {
  for (const [boardNo, runDays] of await clearedRuns(pool, tenantNo))
    for (const runDay of runDays) {
      if (wasCleared({ board: boardNo, runDay })) continue;
      const run = { tenantNo, boardNo, runDay };
      await clearRun(redis, run, await groupsOf(pool, run));
    }
}
