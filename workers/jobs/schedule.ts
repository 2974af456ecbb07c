import type { Logger } from 'pino';
import { LogThrottle } from '../../src/telemetry/log.ts';
import type { PassOutcome } from '../../src/engine/schedule/schedule.ts';
import { rounds, type Rounds } from '../../src/pacing/rounds.ts';

/** Interval of checks while another process does the work or something failed, and so the largest delay of due work. */
const EVERY_MS = 1_000;
const REPEAT_MS = 10_000;

export interface ScheduleWorkerOptions {
  /** Does some of the work; null if another process does it, or if none can be done. */
  pass: () => Promise<PassOutcome | null>;
  /** Time until something is due, ms; null if nothing is within the given time. See `Schedule.untilNextMs`. */
  untilNextMs: (withinMs: number) => Promise<number | null>;
  log: Logger;
  ending: AbortSignal;
  /** Longest sleep. Work due after that is not looked for yet. */
  backstopMs: number;
}

/**
 * Does scheduled work when it is due. Otherwise it sleeps until the next work is due or it is woken: by an edit, stored
 * rows, a filled leaderboard, a tenant's first live stream listener, the test clock, or a Redis that is complete again. Any
 * other write to Postgres wakes it within seconds (`Changes`), in case the process that was woken for it died. The backstop
 * finds work that is due because the system clock was set. While another process does the work, or something failed, it
 * checks every second.
 */
export function scheduleWorker({ pass, untilNextMs, log, ending, backstopMs }: ScheduleWorkerOptions): Rounds {
  const logThrottle = new LogThrottle(REPEAT_MS);
  const complain = (level: 'warn' | 'error', detail: object, message: string): void => {
    if (!ending.aborted) logThrottle.log('', () => log[level](detail, message));
  };
  // Only a warning: failed work is logged elsewhere, and work about a tenant waits while the tenant is converted.
  let heldUpSinceMs: number | null = null;
  const watch = (outcome: PassOutcome | null): void => {
    if (outcome?.state !== 'held up') heldUpSinceMs = null;
    else {
      heldUpSinceMs ??= performance.now();
      if (performance.now() - heldUpSinceMs >= REPEAT_MS)
        complain('warn', { by: outcome.by }, 'scheduled work is held up');
    }
  };
  return rounds(async () => {
    try {
      const outcome = await pass();
      watch(outcome);
      if (outcome?.state === 'more') return 0;
      if (outcome?.state !== 'done') return EVERY_MS;
      const nextMs = await untilNextMs(backstopMs);
      // Work that became due since the pass is at most a second late, even if this result was wrong.
      return nextMs === null ? Infinity : nextMs > 0 ? nextMs : EVERY_MS;
    } catch (error) {
      complain('error', { err: error }, 'the schedule was interrupted; it will continue');
      return EVERY_MS;
    }
  });
}
