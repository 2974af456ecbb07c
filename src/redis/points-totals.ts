/**
 * How the counts of a points system are kept, in a hash: level 0 counts the users of each total, level 1 those of each `width`
 * totals in a row, and so on; block 0 of a level is not counted. Scripts know it as `TOTALS`.
 */
export const TOTALS = {
  width: 32,
  /** Enough for any total: they are below 10^15. */
  levels: 10,
  /** Field: all users with points, which are those that level 0 counts. */
  holders: 'users',
  /**
   * Field, with the number of a level above 0: all users that it counts. Longer than what Redis keeps in a list (64 bytes,
   * `hash-max-listpack-value`): in a list of up to 512 counts it would search for each field from the beginning.
   */
  level: 'users counted on a level; the length of this name makes Redis keep a table: ',
} as const;

const LETTER_BEFORE_A = 96;

/** The fields that count a user with a total; none for 0. `lua/lib/held_writes.lua` knows the same rule. */
export function totalFields(total: number): string[] {
  const fields: string[] = [];
  for (let block = total, level = 0; block > 0; block = Math.floor(block / TOTALS.width), level += 1)
    fields.push(
      level === 0 ? String(block) : `${String.fromCharCode(LETTER_BEFORE_A + level)}${block}`,
      level === 0 ? TOTALS.holders : `${TOTALS.level}${level}`,
    );
  return fields;
}
