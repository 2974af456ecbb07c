import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { noteWork } from '../../postgres/test-clock.ts';
import { countFollowers } from '../../postgres/test-clock-followers.ts';
import type { PassOutcome, Schedule } from '../schedule/schedule.ts';
import type { TestClock } from './test-clock.ts';

const LOOK_MS = 10;

/**
 * A pass of the schedule under the test clock: it begins when every live process shows the new time, so that no
 * earlier event comes after the work, and its outcome is noted for the request that set the clock.
 */
export async function clockPass(
  { pool, clock, schedule }: { pool: Pool; clock: TestClock; schedule: Pick<Schedule, 'pass'> },
  ending: AbortSignal,
): Promise<PassOutcome> {
  const { version } = clock;
  while (!ending.aborted && (await countFollowers(pool, version)).behind > 0) await sleep(LOOK_MS);
  const outcome = await schedule.pass(ending);
  // Set again in the meantime: the end of this pass says nothing about the later time.
  if (clock.version !== version) return { state: 'more' };
  if (outcome.state === 'done') await noteWork(pool, { version, problem: null });
  if (outcome.state === 'held up') await noteWork(pool, { version, problem: outcome.by });
  return outcome;
}
