import { beginMidnight, loadMidnight, untilMidnight } from './midnight.ts';
import type { Stack } from './stack.ts';

/** Something that the worker does beside the load. */
export interface Beside {
  /** Settles when it is done. */
  done: Promise<{ users: number; seconds: number; endedMs: number }>;
}

/** How many users a second a sweep may settle at most, so that it goes on for as long as the load does. */
const USERS_A_SECOND = 30_000;
/** The load is made ready while the sweep goes already. */
const READY_SECONDS = 1;

/** A midnight of so many users that it is not over before a load of some seconds is; resolves when it has begun. */
export async function sweepBeside({ redis, pool }: Stack, seconds: number): Promise<Beside> {
  const users = Math.ceil((seconds + READY_SECONDS) * USERS_A_SECOND);
  const nowMs = Date.now();
  await loadMidnight({ redis, pool, users, nowMs });
  await beginMidnight(pool, nowMs);
  await untilMidnight(pool, nowMs, 'begun');
  const beganMs = performance.now();
  const done = untilMidnight(pool, nowMs, 'over').then(() => {
    const endedMs = performance.now();
    return { users, seconds: (endedMs - beganMs) / 1000, endedMs };
  });
  return { done };
}
