/** Parts of the sentences and links of advice. */

/** Names written out in a sentence. */
const MOST_NAMED = 3;

const LIST = new Intl.ListFormat('en', { type: 'conjunction' });

/** `Flips`, `Flips and Minutes`, `Flips, Minutes, Lessons and 4 others`. `text`: how one is written. */
export function names<T extends { name: string }>(
  of: readonly T[],
  text: (one: T) => string = ({ name }) => name,
): string {
  const written = of.length <= MOST_NAMED + 1 ? of.length : MOST_NAMED;
  const all = of.slice(0, written).map(text);
  return LIST.format(of.length > written ? [...all, `${of.length - written} others`] : all);
}

/** The editor of the only resource, or the list of several. */
export const placeOf = (screen: string, of: readonly { id: string }[]): string =>
  of.length === 1 ? `${screen}#edit-${of[0]!.id}` : screen;
