import type { Crowd, Shape } from './shape.ts';

/** What a request is: an event, 1,000 events in one (answered when all are processed), a read, or a mix of these. */
export type RequestKind = 'event' | 'batch' | 'metric' | 'board' | 'summary' | 'mix';

/** When requests are sent: as fast as answers come, evenly at a rate a second, or in bursts of that mean rate. */
export type Pace = 'flat out' | { rate: number } | { burstRate: number };

/** Requests over HTTP. */
export interface LoadJob {
  kind: 'load';
  url: string;
  apiKey: string;
  requests: RequestKind;
  connections: number;
  /** Requests in all. */
  amount: number;
  pace: Pace;
  shape: Shape;
  crowd: Crowd;
  /** Share of the events that carry an idempotency key. */
  keyed: number;
  seed: number;
  /** `customerId` of the tenants that the events are of, each with the crowd's users; left out: the organisation's own. */
  tenants?: readonly string[];
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
  /**
   * The events of a call are of so many tenants in turn, each with the crowd's users and the catalog of the organisation's own:
   * a command for each, or one for all of them (`joined`). Left out: of the organisation's own.
   */
  tenants?: { count: number; joined: boolean };
}

/** What a process that made load reports. */
export interface Outcome {
  /** Seconds from the first request to the last answer. */
  seconds: number;
  /** Requests or events that were answered. */
  answered: number;
  /** How many of each status (direct calls: `201` for a record, else the kind of refusal). */
  statuses: Record<string, number>;
  /** Events among them that were processed. */
  processed: number;
  /** Milliseconds. On a schedule: from when the request was due. */
  p50: number;
  p99: number;
  /** CPU seconds of the calling process meanwhile (direct calls). */
  cpuSeconds?: number;
}

/** The outcome of latencies in ms; `latencies` is sorted in place. */
export function outcomeOf({
  seconds,
  statuses,
  processed,
  latencies,
}: {
  seconds: number;
  statuses: Record<string, number>;
  processed: number;
  latencies: Float64Array;
}): Outcome {
  latencies.sort();
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return { seconds, answered: latencies.length, statuses, processed, p50: at(0.5), p99: at(0.99) };
}
