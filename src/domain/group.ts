/**
 * The name of a group of a board with a breakdown: the values of the breakdown attributes, each after its
 * length in bytes, e.g. `2:de,3:web`. `lua/lib/board_scores.lua` writes the same; '' is a board without breakdown.
 */
export const groupName = (values: string[]): string =>
  values.map((value) => `${Buffer.byteLength(value)}:${value}`).join(',');

/** The values in a group's name. */
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
