import { nextTurn } from './turns.ts';

/** How long work may occupy the event loop at once. Several requests that compute delay others by a slice each. */
const SLICE_MS = 1;

/** Divides long work into slices. Check it between steps of less than a millisecond. */
export class Slices {
  private readonly every: number;
  private unchecked = 0;
  private sinceMs = performance.now();

  /** `every`: how many short steps share a look at the clock, which takes 50 ns. */
  constructor(every = 1) {
    this.every = every;
  }

  /** Whether the work has occupied the loop long enough to await `turn`. */
  get over(): boolean {
    this.unchecked += 1;
    if (this.unchecked < this.every) return false;
    this.unchecked = 0;
    return performance.now() - this.sinceMs > SLICE_MS;
  }

  /** Resolves when it is the work's turn again, after other waiting work. */
  async turn(): Promise<void> {
    await nextTurn();
    this.sinceMs = performance.now();
  }
}

/** Like `map`, in slices. */
export async function mappedInSlices<T, R>(items: readonly T[], convert: (item: T) => R): Promise<R[]> {
  const slices = new Slices();
  const converted: R[] = [];
  for (const item of items) {
    converted.push(convert(item));
    if (slices.over) await slices.turn();
  }
  return converted;
}

/** Items of an array, and UTF-16 units of a text, that are written between two checks of the slice. */
const WRITTEN_AT_ONCE = { items: 128, units: 131_072 };

/**
 * The JSON text of a value in pieces: down to a depth one item or field each, below some items of an array each, and long texts
 * in parts, none of which begins or ends within a pair of surrogates.
 */
function* jsonPieces(value: unknown, depth: number): Generator<string> {
  if (typeof value === 'string' && value.length > WRITTEN_AT_ONCE.units) {
    yield '"';
    for (let at = 0, end = 0; at < value.length; at = end) {
      end = at + WRITTEN_AT_ONCE.units;
      while (isHighSurrogate(value.charCodeAt(end - 1))) end += 1;
      yield JSON.stringify(value.slice(at, end)).slice(1, -1);
    }
    yield '"';
  } else if (Array.isArray(value)) {
    yield '[';
    for (let at = 0; at < value.length; at += depth > 0 ? 1 : WRITTEN_AT_ONCE.items) {
      if (at > 0) yield ',';
      if (depth > 0) yield* jsonPieces(value[at], depth - 1);
      else yield JSON.stringify(value.slice(at, at + WRITTEN_AT_ONCE.items)).slice(1, -1);
    }
    yield ']';
  } else if (depth > 0 && typeof value === 'object' && value !== null) {
    let separator = '{';
    for (const [name, each] of Object.entries(value)) {
      if (each === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* jsonPieces(each, depth - 1);
      separator = ',';
    }
    yield separator === '{' ? '{}' : '}';
  } else yield JSON.stringify(value);
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;

/** Like `JSON.stringify` of plain data, in slices. `depth`: down to which level arrays and objects are divided. */
export async function jsonInSlices(value: unknown, depth: number): Promise<string> {
  const slices = new Slices();
  let text = '';
  for (const piece of jsonPieces(value, depth)) {
    text += piece;
    if (slices.over) await slices.turn();
  }
  return text;
}

/** The same in parts of some size, to be sent one after the other: nothing copies the whole text. */
export async function* jsonParts(value: unknown, depth: number): AsyncGenerator<string> {
  const slices = new Slices();
  let part = '';
  for (const piece of jsonPieces(value, depth)) {
    part += piece;
    if (part.length >= WRITTEN_AT_ONCE.units) {
      yield part;
      part = '';
    }
    if (slices.over) await slices.turn();
  }
  yield part;
}

/** Items sorted or merged between two checks of the slice. */
const SORTED_AT_ONCE = 256;

/** Like `toSorted`, in slices: sorts short runs, and merges them in pairs. */
export async function sortedInSlices<T>(items: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const slices = new Slices();
  let from = items.slice();
  for (let at = 0; at < from.length; at += SORTED_AT_ONCE) {
    const run = from.slice(at, at + SORTED_AT_ONCE).sort(compare);
    for (const [nth, item] of run.entries()) from[at + nth] = item;
    if (slices.over) await slices.turn();
  }
  let to = from.slice();
  for (let length = SORTED_AT_ONCE; length < from.length; length *= 2) {
    for (let start = 0; start < from.length; start += 2 * length) {
      const middle = Math.min(start + length, from.length);
      const end = Math.min(middle + length, from.length);
      let [left, right] = [start, middle];
      for (let at = start; at < end; at += 1) {
        const isLeft = right === end || (left < middle && compare(from[left]!, from[right]!) <= 0);
        to[at] = from[isLeft ? left++ : right++]!;
        if (at % SORTED_AT_ONCE === 0 && slices.over) await slices.turn();
      }
    }
    [from, to] = [to, from];
  }
  return from;
}
