/** Longer names have no suggestion. */
const MOST_LENGTH = 64;
/** Most candidates compared with a name: a caller may send many unknown keys. */
const MOST_COMPARED = 100;
/** Tolerated share of different characters in a key; smaller than for a field's name. */
const KEY_SHARE = 0.4;

/** The candidate with the fewest edits from a name; `null` if it differs in more than `share` of its characters. */
export function nearest(name: string, candidates: Iterable<string>, share: number): string | null {
  if (name.length > MOST_LENGTH) return null;
  let closest: string | null = null;
  let fewest = Infinity;
  let compared = 0;
  for (const candidate of candidates) {
    const most = share * Math.max(name.length, candidate.length);
    if (Math.abs(name.length - candidate.length) > most || candidate.length > MOST_LENGTH) continue;
    compared += 1;
    if (compared > MOST_COMPARED) break;
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase(), Math.min(most, fewest));
    if (edits < fewest && edits <= most) [closest, fewest] = [candidate, edits];
  }
  return closest;
}

/** The hint of an error about an unknown key; `undefined` if no known key is near. */
export function didYouMean(key: string, known: Iterable<string>): string | undefined {
  const similar = nearest(key, known, KEY_SHARE);
  return similar === null ? undefined : `Did you mean '${similar}'?`;
}

/** The same after an error's text: ` (did you mean flips?)`; '' if no known value is near. */
export function suggestion(value: string, known: Iterable<string>, share = KEY_SHARE): string {
  const similar = nearest(value, known, share);
  return similar === null ? '' : ` (did you mean ${similar}?)`;
}

/**
 * Characters to insert, remove or replace to turn one text into the other (Levenshtein). Takes time proportional to the product of the
 * lengths, but stops early and returns a number above `most` once the distance exceeds it.
 */
export function editDistance(from: string, to: string, most = Infinity): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    let least = row;
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = previous[column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1);
      const edits = Math.min(previous[column]! + 1, current[column - 1]! + 1, replaced);
      current.push(edits);
      if (edits < least) least = edits;
    }
    if (least > most) return least;
    previous = current;
  }
  return previous[to.length]!;
}
