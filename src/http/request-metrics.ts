import { Counter, type Registry } from 'prom-client';
import { Overload } from '../engine/refusals.ts';
import { fullServer, isUnavailable, unavailableAnswer } from '../engine/unavailable.ts';
import { AppError } from '../errors.ts';
import { DURATION_BUCKETS, Histogram, type Series } from '../telemetry/metrics.ts';
import { type Cost, noCost } from '../pacing/turns.ts';
import { OverShare } from './access/shares.ts';
import { KeyRefusal } from './access/key-refusal.ts';

/** Reasons that `ops/alerts.yml` counts. They exist from the start: a counter that appears with its first refusal never increases by it. */
const ALERTED_REASONS = [
  'internal',
  'key_unknown',
  'key_wrong_secret',
  'over_share',
  'overload',
  'overloaded',
  'too_many_wrong_keys',
] as const;

export class OperationTimes {
  private readonly make: (status: string) => Series;
  /** By the first digit of the status; 0 if the client disconnected before the answer. */
  private readonly series: (Series | undefined)[] = [];

  constructor(make: (status: string) => Series) {
    this.make = make;
  }

  answered(status: number, ms: number): void {
    this.observe(Math.floor(status / 100), ms);
  }

  abandoned(ms: number): void {
    this.observe(0, ms);
  }

  private observe(statusClass: number, ms: number): void {
    const series = (this.series[statusClass] ??= this.make(statusClass === 0 ? 'aborted' : `${statusClass}xx`));
    series.observe(ms / 1000);
  }
}

/** Durations by operation and class of status, refusals by reason. */
export class RequestMetrics {
  private readonly durations = new Histogram({
    name: 'laurel_http_request_duration_seconds',
    help: 'Time from the head of a request to its answer, by operation and class of the status; `aborted`: the client left.',
    bounds: DURATION_BUCKETS,
  });
  private readonly byOperation = new Map<string, OperationTimes>();
  private readonly costs = new Map<string, Cost>();
  /** By reason. A counter with labels would cost as much as the rest of a refusal in an overload. */
  private readonly refusals = new Map<string, number>(ALERTED_REASONS.map((reason) => [reason, 0]));
  /** Called when Postgres refuses a write of a request because its disk is full. */
  onPostgresFull: () => void = () => undefined;

  constructor(registry: Registry) {
    this.durations.register(registry);
    const { costs, refusals } = this;
    new Counter({
      name: 'laurel_http_refusals_total',
      help: 'Requests that were refused, by reason: an error code, `overload`, `over_share`, or what was wrong with the key.',
      labelNames: ['reason'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [reason, count] of refusals) this.inc({ reason }, count);
      },
    });
    new Counter({
      name: 'laurel_operation_cost_seconds_total',
      help: 'Time that requests took, by operation and resource: `loop` (this process), `redis`, `postgres`, and `storage` (later, in workers and Postgres; an estimate). Events: `loop` and `storage` only.',
      labelNames: ['operation', 'resource'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [operation, { loopMs, redisMs, postgresMs, storageMs }] of costs) {
          const byResource = { loop: loopMs, redis: redisMs, postgres: postgresMs, storage: storageMs };
          for (const [resource, ms] of Object.entries(byResource))
            if (ms > 0) this.inc({ operation, resource }, ms / 1000);
        }
      },
    });
    new Counter({
      name: 'laurel_operation_bytes_total',
      help: 'Bytes that requests sent to and received from `redis`, and received from `postgres`, by operation. Without events.',
      labelNames: ['operation', 'resource'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [operation, { redisBytes, postgresBytes }] of costs)
          for (const [resource, bytes] of Object.entries({ redis: redisBytes, postgres: postgresBytes }))
            if (bytes > 0) this.inc({ operation, resource }, bytes);
      },
    });
  }

  /** What the requests of an operation have cost, to be added to. */
  costOf(operation: string): Cost {
    let cost = this.costs.get(operation);
    if (cost === undefined) this.costs.set(operation, (cost = noCost()));
    return cost;
  }

  of(operation: string): OperationTimes {
    let times = this.byOperation.get(operation);
    if (times === undefined) {
      times = new OperationTimes((status) => this.durations.series({ operation, status }));
      this.byOperation.set(operation, times);
    }
    return times;
  }

  refused(error: unknown): void {
    const reason = reasonOf(error);
    this.refusals.set(reason, (this.refusals.get(reason) ?? 0) + 1);
    if (!(error instanceof AppError) && fullServer(error) === 'postgres') this.onPostgresFull();
  }
}

/** One of a few dozen words, independent of the request's content. */
function reasonOf(error: unknown): string {
  if (error instanceof KeyRefusal) return `key_${error.reason}`;
  if (error instanceof Overload) return 'overload';
  if (error instanceof OverShare) return 'over_share';
  if (error instanceof AppError) return error.code;
  return isUnavailable(error) ? unavailableAnswer(error).code : 'internal';
}
