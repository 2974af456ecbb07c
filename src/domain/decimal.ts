/**
 * Exact decimals with 6 places, as two numbers: whole units and millionths. Doubles would lose digits when
 * large totals shrink again (1e12 + 0.1 − 1e12); two integers below 2^53 do not. Lua adds them in
 * `lua/lib/decimals.lua`; parsing and printing are here.
 */
export interface Decimal {
  whole: number;
  /** −999,999 to 999,999, of the same sign as `whole` (or `whole` is 0). */
  micros: number;
}

/**
 * What grows with events (totals, counts, sums of periods, scores) stays below this in both directions: 15 digits before
 * the point, so that the difference of two of them is still exact in doubles (below 2^53). An event that would take one
 * out of range is refused. The rule is in `lua/lib/decimals.lua`.
 */
export const SUM_BOUND = 1e15;

/** A decimal, or where it is out of the range of sums the last whole number in it, as `lua/lib/decimals.lua`. */
export function clamped(decimal: Decimal): Decimal {
  if (Math.abs(decimal.whole) < SUM_BOUND) return decimal;
  return { whole: Math.sign(decimal.whole) * (SUM_BOUND - 1), micros: 0 };
}

/** The decimal of a text with at most 6 places, such as Postgres gives for a numeric. */
export function parseDecimal(text: string): Decimal {
  const [whole = '0', places = ''] = text.split('.');
  const micros = Number(places.padEnd(6, '0')) * (whole.startsWith('-') ? -1 : 1);
  return { whole: Number(whole) + 0, micros: micros + 0 };
}

/** The decimal nearest to a finite number of at most 1e12, by its shortest decimal text, so that 0.1 is 0.1. */
export function toDecimal(value: number): Decimal {
  if (Number.isInteger(value)) return { whole: value === 0 ? 0 : value, micros: 0 };
  const negative = value < 0;
  const text = String(Math.abs(value));
  if (text.includes('e')) {
    // Below 1e-6 the shortest text is exponential: only rounding is left.
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

/** Decimal text, e.g. `-0.5`: also a valid JSON number and a valid SQL numeric. */
export function decimalText({ whole, micros }: Decimal): string {
  if (micros === 0) return String(whole);
  const sign = whole < 0 || micros < 0 ? '-' : '';
  const places = String(Math.abs(micros)).padStart(6, '0').replace(/0+$/, '');
  return `${sign}${Math.abs(whole)}.${places}`;
}

/** The double nearest to a decimal: what a JSON client sees. */
export const decimalNumber = (decimal: Decimal): number =>
  decimal.micros === 0 ? decimal.whole : Number(decimalText(decimal));
