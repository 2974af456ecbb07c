/** Exact decimals of six places, as whole millionths. */

const MILLION = 1_000_000n;

/** The decimal of a JSON number, rounded to six places: half away from zero. */
export function micros(value: number): bigint {
  const [, sign, digits, places = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value))!;
  const shift = Number(exponent) - places.length + 6;
  const all = BigInt(digits! + places);
  const scaled =
    shift >= 0 ? all * 10n ** BigInt(shift) : (all * 10n + 5n * 10n ** BigInt(-shift)) / 10n ** BigInt(1 - shift);
  return sign === '-' ? -scaled : scaled;
}

/** The JSON number of an amount in millionths. */
export function wire(amount: bigint): number {
  const size = amount < 0n ? -amount : amount;
  const text = `${size / MILLION}.${String(size % MILLION).padStart(6, '0')}`;
  return size === 0n ? 0 : Number(amount < 0n ? `-${text}` : text);
}

/** A whole number times multipliers, rounded once. */
export function multiplied(whole: number, multipliers: readonly number[], rounding: 'down' | 'nearest' | 'up'): number {
  let numerator = BigInt(whole);
  let denominator = 1n;
  for (const multiplier of multipliers) {
    numerator *= micros(multiplier);
    denominator *= MILLION;
  }
  const add = { down: 0n, nearest: denominator / 2n, up: denominator - 1n }[rounding];
  return Number((numerator + add) / denominator);
}

export const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, amount) => all + amount, 0n);
