import type { Logger } from 'pino';
import { LogThrottle } from '../../src/log/log-throttle.ts';
import type { PassOutcome } from '../../src/engine/schedule/schedule.ts';
import { rounds, type Rounds } from '../rounds.ts';

/** How late work is that falls due, at most, while nothing is in its way but another process, or what failed. */
const EVERY_MS = 1_000;
/** How often is looked while nothing is due, nothing is written, and nobody says that something is. */
const BACKSTOP_MS = 60_000;
/** The same line is not logged again sooner. */
const REPEAT_MS = 10_000;

export interface ScheduleWorkerOptions {
  /** Does some of the work; null where another process does, or nothing can be done. */
  pass: () => Promise<PassOutcome | null>;
  /** How long it is until something falls due, ms; null: nothing does within the time given. See `Schedule.untilNextMs`. */
  untilNextMs: (withinMs: number) => Promise<number | null>;
  log: Logger;
  ending: AbortSignal;
  /** See `BACKSTOP_MS`. */
  backstopMs?: number;
}

/**
 * Has what falls due done, at its time. While nothing is due it waits: until the next time at which something falls due, or
 * until it is woken by what can make more due: an edit, rows that were persisted, a board that is filled, a tenant whose live
 * streams somebody listens to, the test clock, a Redis that is whole again. Whatever else is written to Postgres wakes it
 * within 10 s (`Changes`), which covers what another process was woken for and did not live to do. What is due is in Postgres,
 * so the look every 60 s finds nothing, unless the clock was set. While another process is at work, or something failed, it
 * looks every second.
 */
export function scheduleWorker({
  pass,
  untilNextMs,
  log,
  ending,
  backstopMs = BACKSTOP_MS,
}: ScheduleWorkerOptions): Rounds {
  const logThrottle = new LogThrottle(REPEAT_MS);
  const complain = (detail: object, message: string): void => {
    if (!ending.aborted) logThrottle.log('', () => log.error(detail, message));
  };
  // What fails is in the log by itself; a board that is being filled is not reported.
  let heldUpSinceMs: number | null = null;
  const watch = (outcome: PassOutcome | null): void => {
    if (outcome?.state !== 'held up') heldUpSinceMs = null;
    else {
      heldUpSinceMs ??= performance.now();
      if (performance.now() - heldUpSinceMs >= REPEAT_MS) complain({ by: outcome.by }, 'scheduled work is held up');
    }
  };
  return rounds(async () => {
    try {
      const outcome = await pass();
      watch(outcome);
      if (outcome?.state === 'more') return 0;
      if (outcome?.state !== 'done') return EVERY_MS;
      const nextMs = await untilNextMs(backstopMs);
      // What fell due since the pass is late by a second at most, and a kind that is wrong here costs no more than that.
      return nextMs === null ? backstopMs : nextMs > 0 ? nextMs : EVERY_MS;
    } catch (error) {
      complain({ err: error }, 'the schedule was interrupted; it goes on');
      return EVERY_MS;
    }
  });
}
