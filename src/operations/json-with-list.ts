import { Slices } from '../slices.ts';

/** Items made text at once. */
const AT_ONCE = 20;

/**
 * JSON of an object with a list as its last field, in pieces, so that one whose items are large is not made text in one
 * go. @param fields at least one
 */
export async function* jsonWithList(
  fields: object,
  name: string,
  items: readonly unknown[],
): AsyncIterableIterator<string> {
  const slices = new Slices();
  yield `${JSON.stringify(fields).slice(0, -1)},${JSON.stringify(name)}:[`;
  for (let from = 0; from < items.length; from += AT_ONCE) {
    const some = items.slice(from, from + AT_ONCE).map((item) => JSON.stringify(item));
    // A piece that the connection takes at once gives nobody else a turn.
    if (slices.over) await slices.turn();
    yield (from === 0 ? '' : ',') + some.join();
  }
  yield ']}';
}
