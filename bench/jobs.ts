import type { Crowd, Shape } from './shape.ts';

/** Requests over HTTP: as fast as answers come (`rate` null), or on a schedule of `rate` a second. */
export interface LoadJob {
  kind: 'load';
  url: string;
  apiKey: string;
  connections: number;
  amount: number;
  rate: number | null;
  shape: Shape;
  crowd: Crowd;
  seed: number;
}

/** Script calls without HTTP: `batch` events a call, `atOnce` calls on the way. */
export interface DirectJob {
  kind: 'direct';
  redisUrl: string;
  databaseUrl: string;
  batch: number;
  atOnce: number;
  amount: number;
  crowd: Crowd;
  seed: number;
  /** One event of each user in turn, without attributes left to chance: to have them all there. */
  everyUser: boolean;
}

/** What a process that made load tells. */
export interface Outcome {
  /** Seconds from the first request to the last answer. */
  seconds: number;
  /** Requests or events that were answered. */
  answered: number;
  /** How many of each status (direct calls: `201` for a record, else the kind of refusal). */
  statuses: Record<string, number>;
  /** Milliseconds. On a schedule: from when the request was due. */
  p50: number;
  p99: number;
  /** CPU seconds of the calling process meanwhile (direct calls). */
  cpuSeconds?: number;
}

/** The outcome of latencies in ms; `latencies` is sorted in place. */
export function outcomeOf(seconds: number, statuses: Record<string, number>, latencies: Float64Array): Outcome {
  latencies.sort();
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return { seconds, answered: latencies.length, statuses, p50: at(0.5), p99: at(0.99) };
}
