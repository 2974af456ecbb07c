/** Thrown for a value that does not fit its column's type: sent again, it fits no better. */
export class UnstorableValue extends Error {}

/** Throws UnstorableValue for what is no 32-bit integer. */
export function checkInt4(value: number): void {
  if ((value | 0) !== value) throw new UnstorableValue(`${value} is no 32-bit integer`);
}
