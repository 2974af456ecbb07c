import type { Crowd, Shape } from '../src/cli/load/events.ts';

/** The type of a request: an event, 1,000 events in one (answered when all are processed), a read, or a mix of these. */
export type RequestKind = 'event' | 'batch' | 'metric' | 'board' | 'summary' | 'mix';

/** When to send requests: as fast as answers come, evenly at a rate per second, or in bursts of that mean rate. */
export type Pace = 'flat out' | { rate: number } | { burstRate: number };

/** Requests over HTTP. */
export interface LoadJob {
  kind: 'load';
  url: string;
  apiKey: string;
  requests: RequestKind;
  connections: number;
  /** Total requests. */
  amount: number;
  pace: Pace;
  shape: Shape;
  crowd: Crowd;
  /** Share of the events that have an idempotency key. */
  keyed: number;
  seed: number;
  /** Whether the processes' ledger counts what each user must have afterwards. */
  verify?: boolean;
  /** `customerId` of the tenants of the events, each with the crowd's users; if absent, the organisation's own. */
  tenants?: readonly string[];
  /** Clients that do not give up; see `LoadJob` of the generator. */
  retries?: boolean;
}

/** Script calls without HTTP: `batch` events per call, `atOnce` calls in flight. */
export interface DirectJob {
  kind: 'direct';
  /** Users of earlier jobs are not read if this process changed them last. */
  recalls?: boolean | undefined;
  redisUrl: string;
  databaseUrl: string;
  batch: number;
  atOnce: number;
  amount: number;
  crowd: Crowd;
  seed: number;
  /** One event of each user in turn, without random attributes: so that all users exist. */
  everyUser: boolean;
  /**
   * The events of a call alternate between this many tenants, each with the crowd's users and the catalog of the
   * organisation's own: with a command each, or one for all of them (`joined`). If absent, the organisation's own.
   */
  tenants?: { count: number; joined: boolean };
}

/** The report of a process that made load. */
export interface Outcome {
  /** Seconds from the first request to the last answer. */
  seconds: number;
  /** Requests or events that were answered. */
  answered: number;
  /** The number of each status (direct calls: `201` for a record, else the kind of refusal). */
  statuses: Record<string, number>;
  /** Events among them that were processed. */
  processed: number;
  /** Milliseconds. On a schedule: from when the request was due. */
  p50: number;
  p99: number;
  /** The same of the answers that were not refusals (load). */
  expected?: { p50: number; p99: number };
  /** CPU seconds of the processes that made the load, and ms by which 1 % of the requests left late (load). */
  generator?: { cpuSeconds: number; delayP99: number };
  /** CPU seconds of the calling process meanwhile (direct calls). */
  cpuSeconds?: number;
}

/** The outcome of latencies in ms; sorts `latencies` in place. */
export function outcomeOf(load: {
  seconds: number;
  statuses: Record<string, number>;
  processed: number;
  latencies: Float64Array;
}): Outcome {
  const { seconds, statuses, processed, latencies } = load;
  latencies.sort();
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return { seconds, answered: latencies.length, statuses, processed, p50: at(0.5), p99: at(0.99) };
}
