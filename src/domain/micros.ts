import type { Decimal } from './decimal.ts';

/**
 * Sums of decimals with at most 6 places, counted in millionths: exact at any size. For reads of history, which
 * add what Postgres gives as text; the script adds with `decimal.ts`'s two numbers.
 */
export type Micros = bigint;

const MILLION = 1_000_000n;

/** The millionths of a decimal text such as `-12.5` or `3`. */
export function toMicros(text: string): Micros {
  const [whole = '0', places = ''] = text.split('.');
  const micros = BigInt(whole.replace('-', '')) * MILLION + BigInt(places.slice(0, 6).padEnd(6, '0'));
  return text.startsWith('-') ? -micros : micros;
}

/** The decimal that it is: both parts of one sign. */
export const decimalOfMicros = (micros: Micros): Decimal => ({
  whole: Number(micros / MILLION),
  micros: Number(micros % MILLION),
});

/** The double nearest to it: what a JSON client sees. */
export function microsNumber(micros: Micros): number {
  const size = micros < 0n ? -micros : micros;
  const number = Number(`${size / MILLION}.${String(size % MILLION).padStart(6, '0')}`);
  return micros < 0n ? -number : number;
}
