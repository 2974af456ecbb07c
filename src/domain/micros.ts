import type { Decimal } from './decimal.ts';

/**
 * Sums of decimals with at most 6 places, in millionths. Exact at any size. Reads of history use it to add numerics from
 * Postgres; the Redis functions add with the two numbers of `decimal.ts`.
 */
export type Micros = bigint;

const MILLION = 1_000_000n;

/** Parses decimal text such as `-12.5` or `3`. */
export function toMicros(text: string): Micros {
  const [whole = '0', places = ''] = text.split('.');
  const micros = BigInt(whole.replace('-', '')) * MILLION + BigInt(places.slice(0, 6).padEnd(6, '0'));
  return text.startsWith('-') ? -micros : micros;
}

export const decimalOfMicros = (micros: Micros): Decimal => ({
  whole: Number(micros / MILLION),
  micros: Number(micros % MILLION),
});

/** The nearest double, as JSON clients see it. */
export function microsNumber(micros: Micros): number {
  const size = micros < 0n ? -micros : micros;
  const number = Number(`${size / MILLION}.${String(size % MILLION).padStart(6, '0')}`);
  return micros < 0n ? -number : number;
}
