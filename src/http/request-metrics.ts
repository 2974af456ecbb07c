import { Counter, type Registry } from 'prom-client';
import { Overload } from '../engine/refusals.ts';
import { isUnavailable } from '../engine/unavailable.ts';
import { AppError } from '../errors.ts';
import { DURATION_BUCKETS, Histogram, type Series } from '../metrics/series.ts';
import { KeyRefusal } from './key-refusal.ts';

/** The requests of one operation. */
export class OperationTimes {
  private readonly make: (status: string) => Series;
  /** By the first digit of the status; 0: the client left before it was answered. */
  private readonly series: (Series | undefined)[] = [];

  constructor(make: (status: string) => Series) {
    this.make = make;
  }

  /** An answer, `ms` after its request began. */
  answered(status: number, ms: number): void {
    this.observe(Math.floor(status / 100), ms);
  }

  /** The client left after `ms`, and nobody worked on an answer. */
  abandoned(ms: number): void {
    this.observe(0, ms);
  }

  private observe(statusClass: number, ms: number): void {
    const series = (this.series[statusClass] ??= this.make(statusClass === 0 ? 'aborted' : `${statusClass}xx`));
    series.observe(ms / 1000);
  }
}

/**
 * What the servers of a process answer: durations by operation and class of status, refusals by reason. A request adds two
 * looks at the clock and one observation, 0.26 to 0.30 µs together, nearly all of it the clock (as in `series.ts`).
 */
export class RequestMetrics {
  private readonly durations = new Histogram({
    name: 'laurel_http_request_duration_seconds',
    help: 'Time from the head of a request to its answer, by operation and class of the status; `aborted`: the client left.',
    bounds: DURATION_BUCKETS,
  });
  private readonly byOperation = new Map<string, OperationTimes>();
  private readonly refusals: Counter;

  constructor(registry: Registry) {
    this.durations.register(registry);
    this.refusals = new Counter({
      name: 'laurel_http_refusals_total',
      help: 'Requests that were refused, by reason: an error code, `overload`, or what was wrong with the key.',
      labelNames: ['reason'],
      registers: [registry],
    });
  }

  /** Those of an operation, the same each time. */
  of(operation: string): OperationTimes {
    let times = this.byOperation.get(operation);
    if (times === undefined) {
      times = new OperationTimes((status) => this.durations.series({ operation, status }));
      this.byOperation.set(operation, times);
    }
    return times;
  }

  /** Counts a request that was answered with an error. */
  refused(error: unknown): void {
    this.refusals.inc({ reason: reasonOf(error) });
  }
}

/** One of a few dozen words, whatever was sent. */
function reasonOf(error: unknown): string {
  if (error instanceof KeyRefusal) return `key_${error.reason}`;
  if (error instanceof Overload) return 'overload';
  if (error instanceof AppError) return error.code;
  return isUnavailable(error) ? 'unavailable' : 'internal';
}
