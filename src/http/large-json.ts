/** Parses large JSON in slices, and finds the position of a fault. */
import { AppError } from '../errors.ts';
import { Slices } from '../slices.ts';

/** Text parsed at once: 1 to 3 ms, whatever it contains. */
const PIECE = 65_536;
/** Maximum levels of arrays and objects: more than ten times what valid requests need. */
const MOST_DEPTH = 64;
/** Maximum fields of an object: 400,000 would block the event loop for 200 ms. */
const MOST_FIELDS = 10_000;
/** The fewest characters of a field in JSON: `"":0` and a comma. */
const FIELD_LENGTH = 5;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** An array or object that contains the current position. */
interface Open {
  isArray: boolean;
  start: number;
  from: number;
  member: number;
  /** Its parsed members; `null` if there are none, so that it may be parsed together with its parent. */
  value: unknown[] | Record<string, unknown> | null;
  /** Number of fields so far, of an object. */
  fields: number;
  /** Whether its current member is already parsed. */
  memberDone: boolean;
}

/**
 * Parses JSON like `JSON.parse`, but in slices: arrays and objects are split between members into pieces of 64 KiB. Throws 400 for malformed
 * JSON, and beyond the limits of `requireModest`.
 * @param piece characters per piece
 */
export const parseLarge = (text: string, piece: number = PIECE): Promise<unknown> => new LargeJson(text, piece).parse();

/** Throws 400 for valid JSON with more than 64 levels, or with an object of more than 10,000 fields. */
export function requireModest(text: string): void {
  if (text.length < MOST_FIELDS * FIELD_LENGTH && openings(text, MOST_DEPTH + 1) <= MOST_DEPTH) return;
  const fields: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEndIn(text, at);
    else if (code === COMMA) {
      if ((fields[fields.length - 1]! += 1) > MOST_FIELDS) throw tooManyFields();
    } else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (fields.length === MOST_DEPTH) throw tooDeep();
      // Only fields count: items of an array never reach the limit.
      fields.push(code === OPEN_ARRAY ? -Infinity : 1);
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) fields.pop();
  }
}

/** The number of opening brackets, also in strings, up to a number. Takes some 0.1 µs for an event. */
function openings(text: string, most: number): number {
  let count = 0;
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0 && count < most; at = text.indexOf(bracket, at + 1)) count += 1;
  return count;
}

/** Where a string ends that begins at a position. Throws 400 for one without an end. */
function stringEndIn(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end > 0; end = text.indexOf('"', end + 1)) {
    let escapes = end - 1;
    while (text.charCodeAt(escapes) === BACKSLASH) escapes -= 1;
    if ((end - escapes) % 2 === 1) return end;
  }
  throw invalidJson(text, text.length);
}

const tooDeep = (): AppError => new AppError('malformed', 'The body is nested too deeply');
const tooManyFields = (): AppError =>
  new AppError('malformed', `The body has an object of more than ${MOST_FIELDS} fields`);

class LargeJson {
  private readonly text: string;
  private readonly piece: number;
  private readonly open: Open[] = [];
  private readonly slices = new Slices();
  private root: unknown;
  private ended = false;

  constructor(text: string, piece: number) {
    this.text = text;
    this.piece = piece;
  }

  async parse(): Promise<unknown> {
    const { text, slices } = this;
    let asked = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) at = stringEndIn(text, at);
      else if (code === COMMA) this.comma(at);
      else if (code === OPEN_ARRAY || code === OPEN_OBJECT) this.enter(at, code === OPEN_ARRAY);
      else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) this.leave(at, code === CLOSE_ARRAY);
      if (at - asked < PIECE) continue;
      asked = at;
      if (slices.over) await slices.turn();
    }
    if (this.open.length > 0) throw invalidJson(text, text.length);
    return this.ended ? this.root : this.parsed(0, text.length);
  }

  private enter(at: number, isArray: boolean): void {
    if (this.ended || this.open.at(-1)?.memberDone === true) throw invalidJson(this.text, at);
    if (this.open.length === 0) this.onlySpace(0, at);
    if (this.open.length === MOST_DEPTH) throw tooDeep();
    const inside = { from: at + 1, member: at + 1 };
    this.open.push({ isArray, start: at, ...inside, value: null, fields: 1, memberDone: false });
  }

  private comma(at: number): void {
    const top = this.open.at(-1);
    if (top === undefined) throw invalidJson(this.text, at);
    if (!top.isArray && (top.fields += 1) > MOST_FIELDS) throw tooManyFields();
    if (top.memberDone) {
      this.onlySpace(top.from, at);
      [top.from, top.memberDone] = [at + 1, false];
    } else if (at - top.from > this.piece) {
      this.cutOut();
      this.add(top, at);
      top.from = at + 1;
    }
    top.member = at + 1;
  }

  private leave(at: number, isArray: boolean): void {
    const top = this.open.at(-1);
    if (top === undefined || top.isArray !== isArray) throw invalidJson(this.text, at);
    if (top.value !== null) {
      if (top.memberDone) this.onlySpace(top.from, at);
      else this.add(top, at);
    }
    this.open.pop();
    const parent = this.open.at(-1);
    if (parent === undefined) {
      this.root = top.value ?? this.parsed(top.start, at + 1);
      this.ended = true;
      this.onlySpace(at + 1, this.text.length);
    } else if (top.value !== null) {
      this.put(parent, top);
      [parent.from, parent.memberDone] = [at + 1, true];
    }
  }

  /** Gives every open array and object its own value, so that a piece of the innermost one can be parsed separately. */
  private cutOut(): void {
    for (const [depth, one] of this.open.entries()) {
      const child = this.open[depth + 1];
      one.value ??= one.isArray ? [] : {};
      if (child === undefined || child.value !== null) continue;
      // The text before the member that contains the next open value.
      if (one.member > one.from) this.add(one, one.member - 1);
      one.from = one.member;
    }
  }

  /** Parses the members up to here (at least one) and adds them. */
  private add(to: Open, end: number): void {
    const { value } = to;
    if (Array.isArray(value)) {
      const items = this.parsed(to.from, end, ['[', ']']) as unknown[];
      if (items.length === 0) throw invalidJson(this.text, end);
      for (const item of items) value.push(item);
      return;
    }
    const fields = Object.entries(this.parsed(to.from, end, ['{', '}']) as object);
    if (fields.length === 0) throw invalidJson(this.text, end);
    for (const [name, field] of fields) setField(to, name, field);
  }

  private put(to: Open, child: Open): void {
    if (Array.isArray(to.value)) {
      this.onlySpace(to.member, child.start);
      to.value.push(child.value);
      return;
    }
    // Parsed with an empty object as the child's value, because a number could continue one that precedes the child.
    const [name, ...others] = Object.keys(this.parsed(to.member, child.start, ['{', '{}}']) as object);
    if (name === undefined || others.length > 0) throw invalidJson(this.text, child.start);
    setField(to, name, child.value);
  }

  /** Rejects everything except JSON whitespace, which `trim` does not match exactly. */
  private onlySpace(from: number, to: number): void {
    const offset = this.text.slice(from, to).search(/[^ \t\r\n]/);
    if (offset >= 0) throw invalidJson(this.text, from + offset);
  }

  private parsed(from: number, to: number, [before, after] = ['', '']): unknown {
    const piece = before + this.text.slice(from, to) + after;
    try {
      return JSON.parse(piece);
    } catch {
      const at = from - before.length + (jsonFaultAt(piece) ?? piece.length);
      throw invalidJson(this.text, Math.min(at, to));
    }
  }
}

function setField(to: Open, name: string, field: unknown): void {
  // Not by assignment, because `__proto__` must be an ordinary name.
  if (name === '__proto__')
    Object.defineProperty(to.value, name, { value: field, enumerable: true, configurable: true, writable: true });
  else (to.value as Record<string, unknown>)[name] = field;
}

/** The tokens that may come next in JSON text. */
type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end';

const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// Bounded, because a pattern needs memory for everything that it may backtrack over.
const STRING_PIECE = /[ !#-[\]-\uffff]{1,4096}|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SPACE = /[ \t\r\n]*/y;

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** The position of the first fault of JSON text; `null` if it is valid. `JSON.parse` quotes the body instead. O(text). */
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

/** The position of a string's closing quote, or of the first character that no string can contain. */
function stringEnd(text: string, start: number): number {
  let at = start;
  for (let end = endOf(STRING_PIECE, text, at); end > at; end = endOf(STRING_PIECE, text, at)) at = end;
  return at;
}

/** The error for a body with a fault at a position. */
export const invalidJson = (text: string, at: number): AppError =>
  new AppError('invalid_json', 'The body is not valid JSON', {
    hint: `${at < text.length ? 'The fault is at' : 'It ends too early, at'} ${placeOf(text, at)}.`,
  });

/** Lines in longer texts are not counted, since a body may have millions. */
const MOST_COUNTED = 65_536;

/** Lines, columns and characters count from 1, in UTF-16 units, as in editors. */
function placeOf(text: string, at: number): string {
  if (text.length > MOST_COUNTED) return `character ${at + 1}`;
  const lines = text.slice(0, at).split('\n');
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}
