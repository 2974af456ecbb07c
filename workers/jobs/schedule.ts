import type { Logger } from 'pino';
import { LogThrottle } from '../../src/telemetry/log.ts';
import type { PassOutcome } from '../../src/engine/schedule/schedule.ts';
import { rounds, type Rounds } from '../../src/rounds.ts';

/** How late work is that falls due, at most, while nothing is in its way but another process, or what failed. */
const EVERY_MS = 1_000;
/** The same line is not logged again sooner. */
const REPEAT_MS = 10_000;

export interface ScheduleWorkerOptions {
  /** Does some of the work; null where another process does, or nothing can be done. */
  pass: () => Promise<PassOutcome | null>;
  /** How long it is until something falls due, ms; null: nothing does within the time given. See `Schedule.untilNextMs`. */
  untilNextMs: (withinMs: number) => Promise<number | null>;
  log: Logger;
  ending: AbortSignal;
  /** The worker is woken at least this often. What falls due later is not looked for yet. */
  backstopMs: number;
}

/**
 * Does scheduled work when it falls due. While nothing is due it waits for the next time at which something is, or until it is woken: by an
 * edit, stored rows, a filled board, a tenant whose live streams got a listener, the test clock, or a Redis that is complete again. Anything
 * else that is written to Postgres also wakes it within seconds (`Changes`), in case another process was woken for it and died. The
 * backstop finds what fell due because the system clock was set. While another process does the work, or something failed, it looks every
 * second.
 */
export function scheduleWorker({ pass, untilNextMs, log, ending, backstopMs }: ScheduleWorkerOptions): Rounds {
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
      return nextMs === null ? Infinity : nextMs > 0 ? nextMs : EVERY_MS;
    } catch (error) {
      complain({ err: error }, 'the schedule was interrupted; it goes on');
      return EVERY_MS;
    }
  });
}
