import { isUtf8 } from 'node:buffer';
import { AppError } from '../errors.ts';
import { parsedJson } from '../json.ts';
import { Slices } from '../pacing/slices.ts';
import { isModest, readJson, readLargeJson } from './json-reader.ts';

const JSON_TYPE = /^application\/json\s*(;.*)?$/i;
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i;

/** Throws 415 unless the body is declared as JSON (in UTF-8, if a charset is given). */
export function requireJsonType(contentType: string | null): void {
  if (contentType === 'application/json') return;
  const charset = contentType === null ? undefined : CHARSET.exec(contentType)?.[1]?.toLowerCase();
  if (
    contentType === null ||
    !JSON_TYPE.test(contentType) ||
    (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8')
  )
    throw new AppError('unsupported_media_type', 'The body must be declared as JSON: Content-Type: application/json');
}

/** Throws 415 for a compressed body. */
export function requirePlain(contentEncoding: string | null): void {
  if (contentEncoding === null || contentEncoding.toLowerCase() === 'identity') return;
  throw new AppError('unsupported_media_type', 'The body must not be compressed: send it without Content-Encoding');
}

// In valid JSON, backslashes occur only inside strings, and an odd run of them begins an escape.
const NUL_ESCAPE = /(?<!\\)(?:\\\\)*\\u0000/;
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;
// JSON.stringify escapes only surrogates without a partner.
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/**
 * Parses a body. Throws 400 for malformed JSON, beyond the limits of `readJson`, and for text that cannot be stored unchanged: a NUL
 * character (Postgres refuses it) and a lone surrogate (it becomes U+FFFD in UTF-8, so that two IDs could collide). Valid JSON can contain
 * them only as escapes, so the check is a search of the text.
 */
export function parseJson(text: string): unknown {
  if (text === '') throw new AppError('malformed', 'A JSON body is required');
  const value = (isModest(text) ? parsedJson(text) : undefined) ?? readJson(text);
  if (text.includes('\\u')) refuseUnstorable(text, value);
  return value;
}

/** Like `parseJson`, for bodies that may be large; parses in slices. */
export async function parseLargeJson(text: string): Promise<unknown> {
  const value = await readLargeJson(text);
  if (text.includes('\\u')) refuseUnstorable(text, value);
  await new Slices().turn();
  return value;
}

function refuseUnstorable(text: string, value: unknown): void {
  if (NUL_ESCAPE.test(text)) {
    const field = fieldWith(value, (found) => found.includes('\0'));
    throw new AppError('malformed', `${field ?? 'The body'} contains a NUL character`);
  }
  if (!SURROGATE_ESCAPE.test(text)) return;
  if (LONE_SURROGATE.test(JSON.stringify(value))) {
    const field = fieldWith(value, (found) => LONE_SURROGATE.test(JSON.stringify(found)));
    throw new AppError('malformed', `${field ?? 'The body'} contains half of a surrogate pair`);
  }
}

/** Collects a body up to a limit. uWS invalidates a chunk when its callback returns, so chunks are copied. */
export class BodyReader {
  private readonly limitBytes: number;
  private chunks: Buffer[] | null = null;
  private received = 0;
  /** The whole body; `null` if it is not UTF-8. */
  private decoded: string | null = '';

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  /** Whether the limit was exceeded. The body is then no longer kept. */
  get overflowed(): boolean {
    return this.received > this.limitBytes;
  }

  push(chunk: ArrayBuffer, isLast: boolean): void {
    this.received += chunk.byteLength;
    if (this.overflowed) this.chunks = null;
    else if (!isLast) (this.chunks ??= []).push(Buffer.from(chunk.slice(0)));
    else if (this.chunks === null) this.decode(Buffer.from(chunk));
    else {
      this.chunks.push(Buffer.from(chunk));
      this.decode(Buffer.concat(this.chunks));
      this.chunks = null;
    }
  }

  /** Returns the whole body. Throws 400 if it is not UTF-8. */
  text(): string {
    if (this.decoded === null) throw new AppError('malformed', 'The body is not valid UTF-8');
    return this.decoded;
  }

  private decode(bytes: Buffer): void {
    this.decoded = isUtf8(bytes) ? bytes.toString('utf8') : null;
  }
}

const NAME_LENGTH = 200;

/** Path of the first field whose text matches, e.g. `user.id`; `null` if there is none or it is too long. */
function fieldWith(body: unknown, isOne: (text: string) => boolean): string | null {
  const ahead: { value: unknown; path: string }[] = [{ value: body, path: '' }];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const { value, path } = next;
    if (typeof value === 'string') {
      if (isOne(value)) return namedPath(path);
    } else if (Array.isArray(value)) {
      for (let i = value.length - 1; i >= 0; i -= 1) ahead.push({ value: value[i] as unknown, path: `${path}[${i}]` });
    } else if (typeof value === 'object' && value !== null) {
      const fields = Object.entries(value);
      if (fields.some(([key]) => isOne(key))) return namedPath(path);
      for (const [key, inside] of fields.toReversed())
        ahead.push({ value: inside, path: path === '' ? key : `${path}.${key}` });
    }
  }
  return null;
}

const namedPath = (path: string): string | null => (path === '' || path.length > NAME_LENGTH ? null : path);
