import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { JobRunner } from '../../src/engine/schedule/job-runner.ts';
import { LogThrottle } from '../../src/telemetry/log.ts';
import { rounds, type Rounds } from '../../src/rounds.ts';

/** Slices that one process works on at the same time: a long slice of one job does not hold up the others. */
const LANES = 3;
/** How soon a job is looked for while there is one that rests, or that another lane or process holds. */
const EVERY_MS = 1_000;
/** Between two slices: events go first. 200 users a slice, so 10,000 users a second at most. */
const PAUSE_MS = 20;
/** The same line is not logged again sooner. */
const REPEAT_MS = 10_000;

export interface JobWorkerOptions {
  runner: Pick<JobRunner, 'step' | 'untilNextMs'>;
  /** Whether this process may work now; while it may not, it looks again. */
  mayStep?: () => boolean;
  log: Logger;
  ending: AbortSignal;
  /** See `EVERY_MS`. */
  everyMs?: number;
  /** See `LANES`. */
  lanes?: number;
}

/**
 * Runs jobs, one slice after another in each of a few lanes. While there is a job, a lane looks again when one is due. While there is none,
 * it waits until it is woken: by the signal of a new job, an edit of a catalog, a Redis that is complete again, or, within seconds, anything
 * written to Postgres (`Changes`), where the jobs are.
 */
export function jobWorker({
  runner,
  mayStep = () => true,
  log,
  ending,
  everyMs = EVERY_MS,
  lanes = LANES,
}: JobWorkerOptions): Rounds {
  const logThrottle = new LogThrottle(REPEAT_MS);
  const lane = async (): Promise<number> => {
    try {
      while (!ending.aborted && mayStep() && (await runner.step())) await sleep(PAUSE_MS);
      const nextMs = await runner.untilNextMs();
      if (nextMs === null) return Infinity;
      return mayStep() ? Math.min(everyMs, Math.max(PAUSE_MS, nextMs)) : everyMs;
    } catch (error) {
      if (!ending.aborted) logThrottle.log('', () => log.warn({ err: error }, 'jobs were interrupted; they go on'));
      return everyMs;
    }
  };
  const running = Array.from({ length: lanes }, () => rounds(lane));
  return {
    wake: (withinMs) => {
      for (const each of running) each.wake(withinMs);
    },
    close: async () => {
      await Promise.all(running.map((each) => each.close()));
    },
  };
}
