import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { JobRunner } from '../../src/engine/schedule/job-runner.ts';
import { LogThrottle } from '../../src/telemetry/log.ts';
import { rounds, type Rounds } from '../../src/pacing/rounds.ts';

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

interface Lane {
  rounds: Rounds;
  /** Whether it works on a slice. */
  isBusy: boolean;
}

/**
 * Runs jobs, one slice at a time in each of a few lanes. Without jobs, a single lane sleeps until it is woken: by the signal
 * of a new job, an edit of a catalog, a Redis that is complete again, or, within seconds, any write to Postgres (`Changes`).
 * A lane that begins a slice wakes the next one, which looks for other jobs meanwhile. So a look without jobs takes two
 * statements, not two for each lane.
 */
export function jobWorker(options: JobWorkerOptions): Rounds {
  const { runner, mayStep = () => true, log, ending, everyMs = EVERY_MS, lanes = LANES } = options;
  const logThrottle = new LogThrottle(REPEAT_MS);
  const running: Lane[] = [];
  let closed = false;
  const step = async (lane: Lane): Promise<boolean> => {
    try {
      return await runner.step(() => {
        lane.isBusy = true;
        wake();
      });
    } finally {
      lane.isBusy = false;
    }
  };
  const round = async (lane: Lane): Promise<number> => {
    try {
      while (!ending.aborted && mayStep() && (await step(lane))) await sleep(PAUSE_MS);
      const nextMs = await runner.untilNextMs();
      if (nextMs === null) return Infinity;
      return mayStep() ? Math.min(everyMs, Math.max(PAUSE_MS, nextMs)) : everyMs;
    } catch (error) {
      if (!ending.aborted)
        logThrottle.log('', () => log.warn({ err: error }, 'jobs were interrupted; they will continue'));
      return everyMs;
    }
  };
  const start = (): void => {
    const lane: Lane = { isBusy: false, rounds: rounds(() => round(lane)) };
    running.push(lane);
  };
  /** Wakes a free lane. If all are busy, the first that ends its slice looks in any case. */
  const wake = (withinMs?: number): void => {
    const free = running.find(({ isBusy }) => !isBusy);
    if (free !== undefined) free.rounds.wake(withinMs);
    else if (running.length < lanes && !closed) start();
  };
  start();
  return {
    wake,
    close: async () => {
      closed = true;
      await Promise.all(running.map((lane) => lane.rounds.close()));
    },
  };
}
