import type { Measurement } from './measure.ts';
import { kept, median, type Row } from './rows.ts';

export interface Target {
  name: string;
  value: number | null;
  unit: string;
  target: number;
  /** Whether the value should be at least the target, instead of at most. */
  least: boolean;
}

export interface Memory {
  users: number;
  /**
   * Redis bytes in use per user, after one event each, and at the end of the run: without entries already handed over to
   * Postgres.
   */
  bytesAUserAtFirst: number;
  bytesAUserAtLast: number;
  /**
   * In all of Redis: entries that Postgres has stored some seconds ago (`src/redis/handed-over.ts`), after one event each.
   */
  handedBytesAtFirst: number;
  /** Average number of events per user by then; near a third of them left an idempotency key. */
  eventsAUserAtLast: number;
  /** With their awards and all indexes. */
  postgresBytesAnEvent: number;
  /** Entries left in Redis when everything is stored. */
  outboxEntriesAtLast: number;
}

/** Median over the rounds of the ratio of one case's figure to another's in the same round. */
function ratio(
  measurements: readonly Measurement[],
  figure: 'perSecond' | 'p99',
  [above, below]: [string, string],
): number | null {
  const under = kept(measurements, below);
  const ratios = kept(measurements, above).flatMap((one) => {
    const other = under.find(({ round }) => round === one.round);
    return other === undefined ? [] : [one[figure] / other[figure]];
  });
  return ratios.length === 0 ? null : median(ratios);
}

/** The targets of `npm run bench`, with the measured values. Ratios, because absolute times differ between machines. */
export function targetsOf(measurements: readonly Measurement[], rows: readonly Row[], memory: Memory): Target[] {
  const of = (name: string, figure: keyof Omit<Row, 'case'>): number | null =>
    rows.find((one) => one.case === name)?.[figure] ?? null;
  const quotient = (above: number | null, below: number | null): number | null =>
    above === null || below === null ? null : above / below;
  const throughput = (above: string, below: string): number | null => ratio(measurements, 'perSecond', [above, below]);
  const least = (name: string, value: number | null, target: number): Target => ({
    name,
    value,
    unit: '',
    target,
    least: true,
  });
  const most = (name: string, value: number | null, target: number, unit = ''): Target => ({
    name,
    value,
    unit,
    target,
    least: false,
  });
  return [
    least('whole event ÷ direct calls, same events per call', throughput('event', 'direct'), 0.85),
    least('whole event ÷ direct calls, one event per call', throughput('event', 'direct single'), 0.85),
    least('whole event ÷ bare HTTP server, throughput', throughput('event', 'bare'), 0.15),
    least('bare HTTP server ÷ frontend, CPU', quotient(of('bare', 'nodeMicros'), of('event', 'nodeMicros')), 0.15),
    most('Redis ÷ bare HTTP server, CPU', quotient(of('event', 'redisMicros'), of('bare', 'nodeMicros')), 6.8),
    least('whole event ÷ plain service', quotient(of('event', 'perSecond'), of('plain', 'perSecond')), 5),
    least('the same without ranks', quotient(of('event', 'perSecond'), of('plain unranked', 'perSecond')), 5),
    least(
      'batches ÷ those of the plain service',
      quotient(of('batch', 'perSecond'), of('plain batch', 'perSecond')),
      5,
    ),
    least('batch ÷ single events, throughput', throughput('batch', 'event'), 1.4),
    least('with persisting ÷ without', throughput('event', 'event unpersisted'), 0.8),
    most(
      'leaderboard of 1,000,000 ÷ 1,000 members, Redis CPU',
      quotient(of('board of 1,000,000', 'redisMicros'), of('board of 1,000', 'redisMicros')),
      1.2,
    ),
    most('p99 at half of the capacity, open loop', of('half load', 'p99'), 15, 'ms'),
    most('p99 beside a sweep ÷ without one', ratio(measurements, 'p99', ['half load + sweep', 'half load alone']), 2),
    most('Redis memory per user, one event each', memory.bytesAUserAtFirst, 500, 'B'),
    most(
      `Redis memory per user, ${memory.eventsAUserAtLast.toFixed(1)} events each`,
      memory.bytesAUserAtLast,
      800,
      'B',
    ),
  ];
}

/** Targets of the other benchmarks, which print them beside their measurements. */
export const IDLE_PERCENT = 1.5;
export const HISTORY_READ_MS = 10;
export const ANALYTICS_READ_MS = 300;

/** Figures without a target. */
export const memoryText = ({ postgresBytesAnEvent, outboxEntriesAtLast, handedBytesAtFirst }: Memory): string =>
  `Postgres stores ${postgresBytesAnEvent.toFixed(0)} bytes per event, including awards and indexes; ` +
  `${outboxEntriesAtLast} entries are left in Redis when everything is stored. ` +
  `Stored entries that Redis keeps for some seconds took ${(handedBytesAtFirst / 1e6).toFixed(1)} MB.`;
