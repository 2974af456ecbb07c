/** Decimal numbers: values up to six decimal places, and millionths as integers. */

/**
 * Exact decimals with 6 places, as two numbers: whole units and millionths. A double would lose digits when a large total
 * shrinks again (1e12 + 0.1 − 1e12); two integers below 2^53 do not. `src/rules/sums.ts` adds them.
 */
export interface Decimal {
  whole: number;
  micros: number;
}

export const ZERO: Readonly<Decimal> = Object.freeze({ whole: 0, micros: 0 });

/**
 * Bound of all sums (totals, counts, period sums, scores), exclusive and in both directions: 15 digits before the point keep
 * the difference of two sums exact in doubles (below 2^53). The rules refuse events that would cross it.
 */
export const SUM_BOUND = 1e15;

/** Limits a decimal to the last whole number within the bound. */
export function clamped(decimal: Decimal): Decimal {
  if (Math.abs(decimal.whole) < SUM_BOUND) return decimal;
  return { whole: Math.sign(decimal.whole) * (SUM_BOUND - 1), micros: 0 };
}

/** Parses decimal text with at most 6 places, such as a Postgres numeric. */
export function parseDecimal(text: string): Decimal {
  const [whole = '0', places = ''] = text.split('.');
  const micros = Number(places.padEnd(6, '0')) * (whole.startsWith('-') ? -1 : 1);
  return { whole: Number(whole) + 0, micros: micros + 0 };
}

/** The decimal nearest to a finite number of at most 1e12. Uses the shortest decimal text, so that 0.1 stays 0.1. */
export function toDecimal(value: number): Decimal {
  if (Number.isInteger(value)) return { whole: value === 0 ? 0 : value, micros: 0 };
  const negative = value < 0;
  const text = String(Math.abs(value));
  if (text.includes('e')) {
    // Below 1e-6 the shortest text is exponential, and only rounding remains.
    const micros = Math.round(Math.abs(value) * 1e6);
    return { whole: 0, micros: micros === 0 ? 0 : negative ? -micros : micros };
  }
  const point = text.indexOf('.');
  let whole = Number(text.slice(0, point));
  const places = text.slice(point + 1);
  let micros = Number(places.slice(0, 6).padEnd(6, '0'));
  if (places.length > 6 && places.charCodeAt(6) >= 53) micros += 1;
  if (micros === 1_000_000) {
    whole += 1;
    micros = 0;
  }
  return negative ? { whole: whole === 0 ? 0 : -whole, micros: micros === 0 ? 0 : -micros } : { whole, micros };
}

/** Decimal text such as `-0.5`, valid as a JSON number and as an SQL numeric. */
export function decimalText({ whole, micros }: Decimal): string {
  if (micros === 0) return String(whole);
  const sign = whole < 0 || micros < 0 ? '-' : '';
  const places = String(Math.abs(micros)).padStart(6, '0').replace(/0+$/, '');
  return `${sign}${Math.abs(whole)}.${places}`;
}

export const decimalNumber = (decimal: Decimal): number =>
  decimal.micros === 0 ? decimal.whole : Number(decimalText(decimal));

/**
 * Sums of decimals with at most 6 places, in millionths. Exact at any size. Reads of history use it to add numerics from
 * Postgres; the Redis functions add with the two numbers of `decimal.ts`.
 */
export type Micros = bigint;

const MILLION = 1_000_000n;

export function toMicros(text: string): Micros {
  const [whole = '0', places = ''] = text.split('.');
  const micros = BigInt(whole.replace('-', '')) * MILLION + BigInt(places.slice(0, 6).padEnd(6, '0'));
  return text.startsWith('-') ? -micros : micros;
}

export const microsOf = ({ whole, micros }: Decimal): Micros => BigInt(whole) * MILLION + BigInt(micros);

export const decimalOfMicros = (micros: Micros): Decimal => ({
  whole: Number(micros / MILLION),
  micros: Number(micros % MILLION),
});

export function microsNumber(micros: Micros): number {
  const size = micros < 0n ? -micros : micros;
  const number = Number(`${size / MILLION}.${String(size % MILLION).padStart(6, '0')}`);
  return micros < 0n ? -number : number;
}
