/**
 * Layout of a points system's counts in a hash. Level 0 counts the users of each total, level 1 the users of each range of
 * `width` totals, and so on; block 0 of each level is not counted. Scripts know it as `TOTALS`.
 */
export const TOTALS = {
  width: 32,
  /** Enough for all totals, which are below 10^15. */
  levels: 10,
  /** Field: number of users with points, all those counted on level 0. */
  holders: 'users',
  /**
   * Field, followed by the number of a level above 0: number of users on that level. The name is longer than the values that Redis
   * keeps in a listpack (64 bytes, `hash-max-listpack-value`), where each lookup would search up to 512 counts from the start.
   */
  level: 'users counted on a level; the length of this name makes Redis keep a table: ',
} as const;

const LETTER_BEFORE_A = 96;

/** The fields that count a user with this total; none for 0. `lua/lib/held_writes.lua` has the same rule. */
export function totalFields(total: number): string[] {
  const fields: string[] = [];
  for (let block = total, level = 0; block > 0; block = Math.floor(block / TOTALS.width), level += 1)
    fields.push(
      level === 0 ? String(block) : `${String.fromCharCode(LETTER_BEFORE_A + level)}${block}`,
      level === 0 ? TOTALS.holders : `${TOTALS.level}${level}`,
    );
  return fields;
}
