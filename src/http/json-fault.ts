import { AppError } from '../errors.ts';

/** What can come next in JSON text. */
type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end';

const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// Bounded, because what a pattern can go back over takes memory.
const STRING_PIECE = /[ !#-[\]-\uffff]{1,4096}|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SPACE = /[ \t\r\n]*/y;

/** Where a match that begins at `at` ends; `at` if there is none. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/**
 * The position of the first character that cannot continue JSON text, or the text's length if it ends too early; `null` for valid
 * JSON. The messages of `JSON.parse` differ between versions, often have no position, and quote the body. O(text).
 */
export function jsonFaultAt(text: string): number | null {
  const ends: ('}' | ']')[] = [];
  let expected: Expected = 'value';
  for (let at = endOf(SPACE, text, 0); at < text.length; at = endOf(SPACE, text, at)) {
    const char = text[at]!;
    if (expected === 'comma or end' && char === ',' && ends.length > 0) {
      expected = ends.at(-1) === '}' ? 'name' : 'value';
      at += 1;
    } else if (expected.endsWith('or end') && char === ends.at(-1)) {
      ends.pop();
      expected = 'comma or end';
      at += 1;
    } else if (expected === 'colon' && char === ':') {
      expected = 'value';
      at += 1;
    } else if (expected.startsWith('name') && char === '"') {
      const end = stringEnd(text, at + 1);
      if (text[end] !== '"') return end;
      expected = 'colon';
      at = end + 1;
    } else if (!expected.startsWith('value')) {
      return at;
    } else if (char === '{' || char === '[') {
      ends.push(char === '{' ? '}' : ']');
      expected = char === '{' ? 'name or end' : 'value or end';
      at += 1;
    } else {
      const end = char === '"' ? stringEnd(text, at + 1) : endOf(SCALAR, text, at);
      if (end === at || (char === '"' && text[end] !== '"')) return end;
      expected = 'comma or end';
      at = char === '"' ? end + 1 : end;
    }
  }
  return ends.length === 0 && expected === 'comma or end' ? null : text.length;
}

/** Where a string's closing quote is, or the first character that no string can have. */
function stringEnd(text: string, start: number): number {
  let at = start;
  for (let end = endOf(STRING_PIECE, text, at); end > at; end = endOf(STRING_PIECE, text, at)) at = end;
  return at;
}

/** The error of a body with a fault at a position. */
export const invalidJson = (text: string, at: number): AppError =>
  new AppError('invalid_json', 'The body is not valid JSON', {
    hint: `${at < text.length ? 'The fault is at' : 'It ends too early, at'} ${placeOf(text, at)}.`,
  });

/** Above it lines are not counted: a body may have millions. */
const MOST_COUNTED = 65_536;

/** Lines, columns and characters count from 1, in UTF-16 units, as in editors. */
function placeOf(text: string, at: number): string {
  if (text.length > MOST_COUNTED) return `character ${at + 1}`;
  const lines = text.slice(0, at).split('\n');
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}
