import type { TObject } from 'typebox';
import { didYouMean } from '../domain/nearest.ts';
import { MISPLACED } from '../domain/notifications/live.ts';
import { AppError } from '../errors.ts';

type Kind = 'integer' | 'number' | 'boolean' | 'string';

/** `repeatable`: a string if it occurs once; a list of uninterpreted strings if it is repeated or sent as a list. */
type Shape = 'one' | 'list' | 'repeatable';

interface Parameter {
  shape: Shape;
  kind: Kind;
}

function parameterOf(schema: unknown): Parameter {
  const { type, items } = schema as { type?: string | string[]; items?: unknown };
  if (Array.isArray(type) && type.includes('array')) return { shape: 'repeatable', kind: 'string' };
  return type === 'array' ? { shape: 'list', kind: kindOf(items) } : { shape: 'one', kind: kindOf(schema) };
}

const kindOf = (schema: unknown): Kind => {
  const { type } = schema as { type?: string };
  return type === 'integer' || type === 'number' || type === 'boolean' ? type : 'string';
};

/** Text that cannot be converted stays text; the schema then reports the expected type. */
function typed(text: string, kind: Kind): unknown {
  if (kind === 'integer') return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  if (kind === 'number') return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}

function decoded(text: string, name: string): string {
  let value: string;
  try {
    value = decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new AppError('unprocessable', `${name} has a malformed percent escape`);
  }
  if (value.includes('\0')) throw new AppError('unprocessable', `${name} contains a NUL character`);
  return value;
}

function nameOf(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

const SHOWN_LENGTH = 64;

/** The hint is the most similar parameter, otherwise all of them. */
function unknownParameter(name: string, known: string[]): AppError {
  const all = known.length === 0 ? 'There are no query parameters' : `Known: ${known.join(', ')}`;
  const text = `${name.slice(0, SHOWN_LENGTH)} is not a known query parameter`;
  return new AppError('unprocessable', text, { hint: didYouMean(name, known) ?? all });
}

/**
 * Creates a reader of raw query strings (without `?`) for a schema. Unknown parameters are ignored, except
 * misplaced ones, or all refused with `refusesUnknown`. A list may be sent as repeated parameters
 * (`ids` or `ids[]`), comma-separated, or both. A parameter that may be a string or a list is a string if it is sent once under its plain name.
 * Throws 422 for a malformed escape, a NUL, a single value sent twice, and a parameter that is refused.
 */
export function queryReader(
  schema: TObject,
  { refusesUnknown }: { refusesUnknown: boolean },
): (raw: string) => Record<string, unknown> {
  const parameters = new Map(
    Object.entries(schema.properties).map(([name, property]) => [name, parameterOf(property)]),
  );
  const { [MISPLACED]: misplaced = {} } = schema as { [MISPLACED]?: Record<string, string> };
  return (raw) => {
    const query: Record<string, unknown> = {};
    if (raw === '') return query;
    for (const pair of raw.split('&')) {
      const equals = pair.indexOf('=');
      let name = nameOf(equals < 0 ? pair : pair.slice(0, equals));
      const bracketed = name.endsWith('[]') && !parameters.has(name);
      if (bracketed) name = name.slice(0, -2);
      const known = parameters.get(name);
      if (!known) {
        if (Object.hasOwn(misplaced, name)) throw new AppError('unprocessable', misplaced[name]!);
        if (refusesUnknown && pair !== '') throw unknownParameter(name, [...parameters.keys()]);
        continue;
      }
      const text = equals < 0 ? '' : pair.slice(equals + 1);
      if (known.shape === 'repeatable') {
        const before = query[name] as string | string[] | undefined;
        const value = decoded(text, name);
        query[name] = before === undefined && !bracketed ? value : [...[before ?? []].flat(), value];
      } else if (known.shape === 'list') {
        const list = (query[name] ??= []) as unknown[];
        for (const item of decoded(text, name).split(',')) if (item !== '') list.push(typed(item, known.kind));
      } else {
        if (Object.hasOwn(query, name)) throw new AppError('unprocessable', `${name} must be given once`);
        query[name] = typed(decoded(text, name), known.kind);
      }
    }
    return query;
  };
}

/** Decodes a path parameter. Throws 400 for a malformed escape, invalid UTF-8 and a NUL. */
export function decodeParam(raw: string): string {
  // uWS decodes UTF-8 and replaces invalid bytes with U+FFFD.
  if (raw.includes('\uFFFD')) throw new AppError('malformed', 'The path is not valid UTF-8');
  if (!raw.includes('%')) return raw;
  let value: string;
  try {
    value = decodeURIComponent(raw);
  } catch {
    throw new AppError('malformed', 'The path has a malformed percent escape');
  }
  if (value.includes('\0')) throw new AppError('malformed', 'The path contains a NUL character');
  return value;
}
