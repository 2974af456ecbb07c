import type { Pool } from 'pg';
import { countFollowers, noteWork } from '../../postgres/test-clock.ts';
import type { PassOutcome, Schedule } from '../schedule/schedule.ts';
import { GrowingPauses } from './growing-pauses.ts';
import type { TestClock } from './test-clock.ts';

/**
 * A pass of the schedule under the test clock: it begins when every live process shows the new time, so that no
 * earlier event comes after the work, and its outcome is noted for the request that set the clock.
 */
export async function clockPass(
  { pool, clock, schedule }: { pool: Pool; clock: TestClock; schedule: Pick<Schedule, 'pass'> },
  ending: AbortSignal,
): Promise<PassOutcome> {
  const { version } = clock;
  const pauses = new GrowingPauses();
  while (!ending.aborted && (await countFollowers(pool, version)).behind > 0) await pauses.next();
  const outcome = await schedule.pass(ending);
  // Set again in the meantime: the end of this pass says nothing about the later time.
  if (clock.version !== version) return { state: 'more' };
  if (outcome.state === 'done') await noteWork(pool, { version, problem: null });
  if (outcome.state === 'held up') await noteWork(pool, { version, problem: outcome.by });
  return outcome;
}
