import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LogThrottle } from '../src/log/log-throttle.ts';
import { rounds, type Rounds } from './rounds.ts';

/** How soon a request is taken up; requests must settle for longer than this anyway. */
const EVERY_MS = 1_000;
/** How often is looked while there is no request, nothing is written, and nobody says that there is one. */
const BACKSTOP_MS = 60_000;
/** Between two steps: events go first. 200 users a step, so 10,000 users a second at most. */
const PAUSE_MS = 20;
/** The same line is not logged again sooner. */
const REPEAT_MS = 10_000;

export interface StepwiseOptions {
  engine: {
    /** Does a bounded part of what is asked for in Postgres; false: there is nothing that can be done now. */
    step(): Promise<boolean>;
    /** Whether a request is unfinished: one that is not settled yet, that failed, or that another process works on. */
    waits(): Promise<boolean>;
  };
  /** Whether steps may be done now; left out: always. */
  mayStep?: () => boolean;
  /** Called when something was done. */
  onStepped?: () => void;
  log: Logger;
  ending: AbortSignal;
  /** See `EVERY_MS`. */
  everyMs?: number;
  /** See `BACKSTOP_MS`. */
  backstopMs?: number;
}

/**
 * Works off requests that Postgres holds, one step after another. While there is one it looks every second; while there
 * is none it waits to be woken. What wakes it: an edit of a catalog, which every process hears of (`Changes`, whose own backstop
 * finds edits that nobody announced), a Redis that is whole again, and, within 10 s, whatever is written to Postgres, where
 * requests are: so no lost wake-up leaves one to the look every 60 s. `what` is said of the work in the log.
 */
export function stepwiseWorker(
  what: string,
  {
    engine,
    mayStep = () => true,
    onStepped,
    log,
    ending,
    everyMs = EVERY_MS,
    backstopMs = BACKSTOP_MS,
  }: StepwiseOptions,
): Rounds {
  const logThrottle = new LogThrottle(REPEAT_MS);
  return rounds(async () => {
    let stepped = false;
    try {
      while (!ending.aborted && mayStep() && (await engine.step())) {
        stepped = true;
        await sleep(PAUSE_MS);
      }
      return (await engine.waits()) ? everyMs : backstopMs;
    } catch (error) {
      if (!ending.aborted) logThrottle.log('', () => log.warn({ err: error }, `${what} was interrupted; it goes on`));
      return everyMs;
    } finally {
      if (stepped) onStepped?.();
    }
  });
}
