/*
 * Secondary scores: numbers that events send as an attribute, and that decide between equal scores on a leaderboard. They are kept as
 * rank numbers: whole, at least 0, and greater for a better secondary score, so that they sort as the digits of a member of a sorted
 * set. 0: there is none.
 */

export type SecondaryOrder = 'ascending' | 'descending';

/** The greatest number that counts, so that its rank number is exact. */
export const MOST_SECONDARY = 4_000_000_000;

const MILLION = 1_000_000;
const MIDDLE = 2 ** 52;
const NUMBER = /^-?([0-9]{1,10})(?:\.([0-9]{1,6}))?$/;

/** The rank number of an event's secondary score. `attributes`: JSON, `''` for none. Other texts than numbers in the range count as none. */
export function secondaryOf(attributes: string, { key, order }: { key: string; order: SecondaryOrder }): number {
  if (attributes === '') return 0;
  const values = JSON.parse(attributes) as Record<string, unknown>;
  return Object.hasOwn(values, key) ? rankNumber(values[key], order) : 0;
}

function rankNumber(text: unknown, order: SecondaryOrder): number {
  const match = typeof text === 'string' ? NUMBER.exec(text) : null;
  if (match === null) return 0;
  const micros = Number(match[1]) * MILLION + Number((match[2] ?? '').padEnd(6, '0'));
  if (micros > MOST_SECONDARY * MILLION) return 0;
  const isAbove = (text as string).startsWith('-') === (order === 'ascending');
  return isAbove ? MIDDLE + micros : MIDDLE - micros;
}

/** SQL: the rank number (`bigint`) of the text that an expression returns, as above. */
export const rankNumberSql = (text: string, order: SecondaryOrder): string =>
  `CASE WHEN ${text} ~ '^-?[0-9]{1,10}([.][0-9]{1,6})?$' THEN
     CASE WHEN abs((${text})::numeric) <= ${MOST_SECONDARY}
          THEN ${MIDDLE} ${order === 'ascending' ? '-' : '+'} ((${text})::numeric * ${MILLION})::bigint ELSE 0 END
   ELSE 0 END`;

/** The number of which a rank number was made; `null` for none. */
export function secondaryScore(rank: number, order: SecondaryOrder): number | null {
  if (rank === 0) return null;
  // Adds 0, because no answer shows -0.
  return ((order === 'ascending' ? MIDDLE - rank : rank - MIDDLE) + 0) / MILLION;
}
