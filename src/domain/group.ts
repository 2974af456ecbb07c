/**
 * The name of a leaderboard group: the values of the breakdown attributes, each prefixed with its length in bytes, e.g.
 * `2:de,3:web`; `''` without a breakdown. `lua/lib/board_scores.lua` writes the same format.
 */
export const groupName = (values: string[]): string =>
  values.map((value) => `${Buffer.byteLength(value)}:${value}`).join(',');

export function groupValues(group: string): string[] {
  const bytes = Buffer.from(group);
  const values: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const colon = bytes.indexOf(':', at);
    const end = colon + 1 + Number(bytes.toString('utf8', at, colon));
    values.push(bytes.toString('utf8', colon + 1, end));
    at = end + 1;
  }
  return values;
}
