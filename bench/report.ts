import { CASES, type Case, type Measurement } from './measure.ts';

/** A measurement does not count if other machines, or other programs on this one, took more of the CPU than this. */
const MAX_TAKEN = 0.05;
export const counts = ({ steal, others }: Measurement): boolean => steal <= MAX_TAKEN && others <= MAX_TAKEN;

export interface Row {
  case: Case;
  kept: number;
  dropped: number;
  perSecond: number;
  p50: number;
  p99: number;
  nodeMicros: number;
  redisMicros: number;
  persistMicros: number;
  eventsPerCall: number;
  drainSeconds: number;
  idle: number;
}

export interface Target {
  name: string;
  value: number | null;
  unit: string;
  /** What to reach, and the stretch; `least`: more is better. */
  target: number;
  stretch: number;
  least: boolean;
}

export interface Memory {
  users: number;
  /** Redis bytes in use over the users, after one event each, and at the end of the run. */
  bytesAUserAtFirst: number;
  bytesAUserAtLast: number;
  /** Events a user had by then on average; near a third of them left an idempotency key. */
  eventsAUserAtLast: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The measurements that count; all of a case if none does. */
function kept(measurements: readonly Measurement[], name: Case): Measurement[] {
  const all = measurements.filter((one) => one.case === name);
  const calm = all.filter(counts);
  return calm.length > 0 ? calm : all;
}

/** Medians of every case. */
export function rowsOf(measurements: readonly Measurement[]): Row[] {
  return CASES.filter((name) => measurements.some((one) => one.case === name)).map((name) => {
    const counted = kept(measurements, name);
    const of = (pick: (one: Measurement) => number): number => median(counted.map(pick));
    return {
      case: name,
      kept: counted.filter(counts).length,
      dropped: measurements.filter((one) => one.case === name && !counts(one)).length,
      perSecond: of((one) => one.perSecond),
      p50: of((one) => one.p50),
      p99: of((one) => one.p99),
      nodeMicros: of((one) => one.nodeMicros),
      redisMicros: of((one) => one.redisMicros),
      persistMicros: of((one) => one.persistMicros),
      eventsPerCall: of((one) => one.eventsPerCall),
      drainSeconds: of((one) => one.drainSeconds),
      idle: of((one) => one.idle),
    };
  });
}

/** Median over the rounds of one case's throughput in ratio to another's in the same round. */
function ratio(measurements: readonly Measurement[], above: Case, below: Case): number | null {
  const under = kept(measurements, below);
  const ratios = kept(measurements, above).flatMap((one) => {
    const other = under.find(({ round }) => round === one.round);
    return other === undefined ? [] : [one.perSecond / other.perSecond];
  });
  return ratios.length === 0 ? null : median(ratios);
}

export function targetsOf(measurements: readonly Measurement[], rows: readonly Row[], memory: Memory): Target[] {
  const of = (name: Case, pick: (row: Row) => number): number | null => {
    const row = rows.find((one) => one.case === name);
    return row === undefined ? null : pick(row);
  };
  const least = (name: string, value: number | null, target: number, stretch: number): Target => ({
    name,
    value,
    unit: '',
    target,
    stretch,
    least: true,
  });
  const most = (name: string, value: number | null, unit: string, [target, stretch]: [number, number]): Target => ({
    name,
    value,
    unit,
    target,
    stretch,
    least: false,
  });
  const bareMicros = of('bare', (row) => row.nodeMicros);
  const eventMicros = of('event', (row) => row.nodeMicros);
  return [
    least('whole event ÷ direct script calls, same events a call', ratio(measurements, 'event', 'direct'), 0.85, 0.95),
    least(
      'whole event ÷ direct script calls, one event a call',
      ratio(measurements, 'event', 'direct single'),
      0.85,
      0.95,
    ),
    least('whole event ÷ bare uWS, throughput', ratio(measurements, 'event', 'bare'), 0.15, 0.2),
    least(
      'bare uWS ÷ frontend, CPU a request',
      bareMicros !== null && eventMicros !== null ? bareMicros / eventMicros : null,
      0.15,
      0.2,
    ),
    most('frontend, CPU an event', eventMicros, 'µs', [60, 45]),
    most(
      'Redis, CPU an event',
      of('event', (row) => row.redisMicros),
      'µs',
      [65, 45],
    ),
    most(
      'worker + Postgres, CPU an event',
      of('event', (row) => row.persistMicros),
      'µs',
      [40, 25],
    ),
    least('ingest with persisting ÷ without', ratio(measurements, 'event', 'event unpersisted'), 0.8, 0.9),
    most(
      'p99 at half of the capacity, open loop',
      of('half load', (row) => row.p99),
      'ms',
      [15, 8],
    ),
    most('Redis memory a user, one event each', memory.bytesAUserAtFirst, 'B', [800, 500]),
    most(
      `Redis memory a user, ${memory.eventsAUserAtLast.toFixed(1)} events each`,
      memory.bytesAUserAtLast,
      'B',
      [800, 500],
    ),
  ];
}

const COLUMNS: [string, number, (row: Row) => string][] = [
  ['events/s', 10, (row) => Math.round(row.perSecond).toLocaleString('en')],
  ['p50 ms', 8, (row) => row.p50.toFixed(1)],
  ['p99 ms', 8, (row) => row.p99.toFixed(1)],
  ['node µs', 9, (row) => row.nodeMicros.toFixed(1)],
  ['Redis µs', 9, (row) => row.redisMicros.toFixed(1)],
  ['store µs', 9, (row) => row.persistMicros.toFixed(1)],
  ['a call', 7, (row) => row.eventsPerCall.toFixed(1)],
  ['drain s', 8, (row) => row.drainSeconds.toFixed(2)],
  ['idle %', 7, (row) => (row.idle * 100).toFixed(0)],
  ['rounds', 8, (row) => `${row.kept}${row.dropped > 0 ? `−${row.dropped}` : ''}`],
];

/** The table of cases; `node µs` is CPU of the process that answers (or calls), `store µs` of worker and Postgres. */
export function tableOf(rows: readonly Row[]): string {
  const line = (cells: string[]): string =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(18) : cell.padStart(COLUMNS[at - 1]![1]))).join('');
  return [
    line(['', ...COLUMNS.map(([name]) => name)]),
    ...rows.map((row) => line([row.case, ...COLUMNS.map(([, , cell]) => cell(row))])),
  ].join('\n');
}

/** The figures beside what is to be reached. */
export function targetTable(targets: readonly Target[]): string {
  const number = (value: number, unit: string): string =>
    `${unit === '' ? value.toFixed(2) : value.toFixed(unit === 'B' ? 0 : 1)} ${unit}`.trim();
  return targets
    .map(({ name, value, unit, target, stretch, least }) => {
      const sign = least ? '≥' : '≤';
      const meets = (limit: number): boolean => value !== null && (least ? value >= limit : value <= limit);
      const verdict =
        value === null ? 'not measured' : meets(stretch) ? 'stretch reached' : meets(target) ? 'reached' : 'MISSED';
      const shown = value === null ? '–' : number(value, unit);
      return (
        `${name.padEnd(54)}${shown.padStart(10)}   ${sign} ${number(target, unit)} (${number(stretch, unit)})`.padEnd(
          96,
        ) + verdict
      );
    })
    .join('\n');
}
