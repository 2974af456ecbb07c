const SCALE = 1_000_000n;

/** Millionths of a decimal as written in JSON or SQL. Exact; throws if the text is no plain decimal. */
export function microsOf(text: string): bigint {
  const parts = /^(-?)(\d+)(?:\.(\d{1,6})0*)?$/.exec(text);
  if (parts === null) throw new Error(`"${text}" is no decimal with at most six places`);
  const [, sign, whole = '0', places = ''] = parts;
  const micros = BigInt(whole) * SCALE + BigInt(places.padEnd(6, '0'));
  return sign === '-' ? -micros : micros;
}

/** The decimal as text, without trailing zeros. */
export function microsText(micros: bigint): string {
  const size = micros < 0n ? -micros : micros;
  const places = String(size % SCALE)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${micros < 0n ? '-' : ''}${size / SCALE}${places === '' ? '' : `.${places}`}`;
}

/** How often a whole step fits, for amounts from 0 up. */
export const stepsIn = (micros: bigint, step: number): number => Number(micros / (BigInt(step) * SCALE));
