import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { JobRunner } from '../../src/engine/schedule/job-runner.ts';
import { LogThrottle } from '../../src/telemetry/log.ts';
import { rounds, type Rounds } from '../../src/rounds.ts';

/** Slices that one process runs concurrently, so that a long slice of one job does not delay other jobs. */
const LANES = 3;
/** Interval of checking for jobs while one pauses, or another lane or process holds it. */
const EVERY_MS = 1_000;
/** Pause between slices, which gives events priority. */
const PAUSE_MS = 20;
const REPEAT_MS = 10_000;

export interface JobWorkerOptions {
  runner: Pick<JobRunner, 'step' | 'untilNextMs'>;
  /** Whether this process may work now. If not, it checks again later. */
  mayStep?: () => boolean;
  log: Logger;
  ending: AbortSignal;
  everyMs?: number;
  lanes?: number;
}

/**
 * Runs jobs, one slice at a time in each of a few lanes. While there are jobs, a lane continues when one is due. Otherwise
 * it sleeps until it is woken: by the signal of a new job, an edit of a catalog, a Redis that is complete again, or, within
 * seconds, any write to Postgres (`Changes`).
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
      if (!ending.aborted)
        logThrottle.log('', () => log.warn({ err: error }, 'jobs were interrupted; they will continue'));
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
