import { beginMidnight, loadMidnight, untilMidnight } from './midnight.ts';
import type { Stack } from './stack.ts';

/** Work that the worker does during the load. */
export interface Beside {
  /** Resolves when it is done. */
  done: Promise<{ users: number; seconds: number; endedMs: number }>;
}

/** How many users per second a sweep may settle at most, so that it lasts as long as the load. */
const USERS_A_SECOND = 30_000;
/** The load is prepared while the sweep is already running. */
const READY_SECONDS = 1;

/** A midnight with enough users to last longer than a load of some seconds; resolves when it has begun. */
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
