import { CASES } from './cases.ts';
import type { Measurement } from './measure.ts';

/** A measurement does not count if other machines, or other programs on this one, took more of the CPU than this. */
const MAX_TAKEN = 0.05;
/** Whether a measurement counts. */
export const counts = ({ steal, others }: Measurement): boolean => steal <= MAX_TAKEN && others <= MAX_TAKEN;

/** Medians of a case over the rounds that count. */
export interface Row {
  case: string;
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

/** NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The measurements that count; all of a case if none does. */
export function kept(measurements: readonly Measurement[], name: string): Measurement[] {
  const all = measurements.filter((one) => one.case === name);
  const calm = all.filter(counts);
  return calm.length > 0 ? calm : all;
}

/** Medians of every case. */
export function rowsOf(measurements: readonly Measurement[]): Row[] {
  const names = CASES.map(({ name }) => name).filter((name) => measurements.some((one) => one.case === name));
  return names.map((name) => {
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
