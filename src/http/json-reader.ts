/** Reads JSON value by value: large texts in slices, and with the position of a fault. */
import { AppError } from '../errors.ts';
import { Slices } from '../pacing/slices.ts';

/** Maximum levels of arrays and objects: more than ten times what valid requests need. */
const MOST_DEPTH = 64;
/** Maximum fields of an object: 400,000 would block the event loop for 200 ms. */
const MOST_FIELDS = 10_000;
/** The fewest characters of a field in JSON: `"":0` and a comma. */
const FIELD_LENGTH = 5;
/** Characters that are read between two checks of the slice, and the value with which they end. */
const READ_AT_ONCE = 8_192;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const SPACES = /[ \t\r\n]*/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// Bounded, because a pattern needs memory for everything that it may backtrack over.
const STRING_PIECE = /(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,1024}/y;

/** The beginning of a string for which a loop is faster than a pattern. */
const SHORT = 64;
const isOrdinary = (code: number): boolean => code >= SPACE && code !== QUOTE && code !== BACKSLASH;

/** V8 keeps the whole text for the sake of a longer slice of it. */
const LONGEST_COPIED = 12;

/** An array or object that is not read completely. */
interface Open {
  value: unknown[] | Record<string, unknown>;
  close: number;
  /** The field that is being read, of an object, and the number of fields so far. */
  name: string;
  fields: number;
}

/** An array or object has begun, instead of a value. */
const BEGUN = Symbol('begun');

/** Like `JSON.parse`. Throws 400 for malformed JSON, and for more than 64 levels or an object of more than 10,000 fields. */
export function readJson(text: string): unknown {
  const reader = new JsonReader(text);
  while (!reader.readOn()) continue;
  return reader.root;
}

/** The same in slices. */
export async function readLargeJson(text: string): Promise<unknown> {
  const reader = new JsonReader(text);
  const slices = new Slices();
  while (!reader.readOn()) if (slices.over) await slices.turn();
  return reader.root;
}

/** Whether valid JSON certainly keeps the limits of `readJson`. Takes some 0.1 µs for an event. */
export function isModest(text: string): boolean {
  if (text.length >= MOST_FIELDS * FIELD_LENGTH) return false;
  let openings = 0;
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if ((openings += 1) > MOST_DEPTH) return false;
  return true;
}

class JsonReader {
  private readonly text: string;
  private at = 0;
  private readonly open: Open[] = [];
  root: unknown;

  constructor(text: string) {
    this.text = text;
  }

  /** Reads some more values. Returns whether the text is read. */
  readOn(): boolean {
    for (const until = this.at + READ_AT_ONCE; this.at < until;) {
      const value = this.begin();
      if (value !== BEGUN && this.end(value)) return true;
    }
    return false;
  }

  /** Reads a value, or the beginning of an array or object that is not empty. */
  private begin(): unknown {
    const { text } = this;
    const code = this.next();
    if (code === QUOTE) return this.string(true);
    if (code === OPEN_ARRAY || code === OPEN_OBJECT) return this.enter(code === OPEN_ARRAY);
    SCALAR.lastIndex = this.at;
    if (!SCALAR.test(text)) throw invalidJson(text, this.at);
    const token = text.slice(this.at, SCALAR.lastIndex);
    this.at = SCALAR.lastIndex;
    if (token === 'null') return null;
    return token === 'true' || (token !== 'false' && Number(token));
  }

  private enter(isArray: boolean): unknown {
    if (this.open.length === MOST_DEPTH) throw new AppError('malformed', 'The body is nested too deeply');
    this.at += 1;
    const value = isArray ? [] : {};
    const close = isArray ? CLOSE_ARRAY : CLOSE_OBJECT;
    if (this.next() === close) {
      this.at += 1;
      return value;
    }
    const opened: Open = { value, close, name: '', fields: 0 };
    this.open.push(opened);
    if (!isArray) this.readName(opened);
    return BEGUN;
  }

  /** Adds a value to the array or object that it is in, and ends those that end after it. Returns whether the text is read. */
  private end(value: unknown): boolean {
    const { text, open } = this;
    for (let ended = value; ; ended = open.pop()!.value) {
      const code = this.next();
      const around = open.at(-1);
      if (around === undefined) {
        if (this.at < text.length) throw invalidJson(text, this.at);
        this.root = ended;
        return true;
      }
      add(around, ended);
      if (code !== COMMA && code !== around.close) throw invalidJson(text, this.at);
      this.at += 1;
      if (code !== COMMA) continue;
      if (around.close === CLOSE_OBJECT) this.readName(around);
      return false;
    }
  }

  private readName(object: Open): void {
    if ((object.fields += 1) > MOST_FIELDS)
      throw new AppError('malformed', `The body has an object of more than ${MOST_FIELDS} fields`);
    if (this.next() !== QUOTE) throw invalidJson(this.text, this.at);
    object.name = this.string(false);
    if (this.next() !== COLON) throw invalidJson(this.text, this.at);
    this.at += 1;
  }

  /** The code of the next character that is not space; NaN at the end. */
  private next(): number {
    const code = this.text.charCodeAt(this.at);
    if (code > SPACE) return code;
    SPACES.lastIndex = this.at;
    SPACES.test(this.text);
    this.at = SPACES.lastIndex;
    return this.text.charCodeAt(this.at);
  }

  /** `isKept`: as a value, which may outlive the text. */
  private string(isKept: boolean): string {
    const { text, at: start } = this;
    let at = start + 1;
    const shortEnd = at + SHORT;
    while (at < shortEnd && isOrdinary(text.charCodeAt(at))) at += 1;
    if (text.charCodeAt(at) !== QUOTE) {
      STRING_PIECE.lastIndex = at;
      while (STRING_PIECE.test(text)) at = STRING_PIECE.lastIndex;
    }
    if (text.charCodeAt(at) !== QUOTE) throw invalidJson(text, at);
    this.at = at + 1;
    const slice = text.slice(start + 1, at);
    if (slice.includes('\\')) return JSON.parse(text.slice(start, this.at)) as string;
    return isKept && slice.length > LONGEST_COPIED ? ` ${slice}`.slice(1) : slice;
  }
}

function add({ value, name }: Open, member: unknown): void {
  if (Array.isArray(value)) value.push(member);
  // Not by assignment, because `__proto__` must be an ordinary name.
  else if (name === '__proto__')
    Object.defineProperty(value, name, { value: member, enumerable: true, configurable: true, writable: true });
  else value[name] = member;
}

/** The error for a body with a fault at a position. */
function invalidJson(text: string, at: number): AppError {
  return new AppError('invalid_json', 'The body is not valid JSON', {
    hint: `${at < text.length ? 'The fault is at' : 'It ends too early, at'} ${placeOf(text, at)}.`,
  });
}

/** Lines in longer texts are not counted, since a body may have millions. */
const MOST_COUNTED = 65_536;

/** Lines, columns and characters count from 1, in UTF-16 units, as in editors. */
function placeOf(text: string, at: number): string {
  if (text.length > MOST_COUNTED) return `character ${at + 1}`;
  const lines = text.slice(0, at).split('\n');
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}
