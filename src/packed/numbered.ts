/** A Lua table with integer keys. It is packed as a map, or as an array if the keys happen to be 1..n. */
export type Numbered<T> = T[] | Record<number, T>;

export function* numbered<T>(table: Numbered<T> | undefined): Generator<[number, T]> {
  if (table === undefined) return;
  if (Array.isArray(table)) {
    for (const [index, value] of table.entries()) yield [index + 1, value];
    return;
  }
  for (const key of Object.keys(table)) yield [Number(key), table[Number(key)] as T];
}
