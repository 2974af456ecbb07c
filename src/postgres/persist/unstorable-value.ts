/** Thrown for a value that does not fit its column's type: sent again, it fits no better. Its message goes into logs. */
export class UnstorableValue extends Error {}

/** A value for the message of an UnstorableValue: numbers only, as any other may be what a user sent. */
export const shown = (value: unknown): string => (typeof value === 'number' ? String(value) : `a ${typeof value}`);

/** Throws UnstorableValue for what is no 32-bit integer. */
export function checkInt4(value: number): void {
  if ((value | 0) !== value) throw new UnstorableValue(`${shown(value)} is no 32-bit integer`);
}

/** Throws UnstorableValue for what is no integer below 2^53. */
export function checkInt8(value: number): void {
  if (!Number.isSafeInteger(value)) throw new UnstorableValue(`${shown(value)} is no integer below 2^53`);
}
