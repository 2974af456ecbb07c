/** A value that does not fit its column's type, so that retrying is useless. Its message is logged. */
export class UnstorableValue extends Error {}

/** A value for the message of an UnstorableValue. Shows only numbers, because other values may come from a user. */
export const shown = (value: unknown): string => (typeof value === 'number' ? String(value) : `a ${typeof value}`);

export function checkInt4(value: number): void {
  if ((value | 0) !== value) throw new UnstorableValue(`${shown(value)} is no 32-bit integer`);
}

export function checkInt8(value: number): void {
  if (!Number.isSafeInteger(value)) throw new UnstorableValue(`${shown(value)} is no integer below 2^53`);
}
