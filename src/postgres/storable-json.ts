/** Matches how `JSON.stringify` writes a NUL or an unpaired surrogate. jsonb refuses both. */
const REFUSED = /\\u(?:0000|d[89a-f])/;
const REFUSED_CHARACTERS = /\0|[\uD800-\uDFFF]/gu;

const clean = (text: string): string => text.replace(REFUSED_CHARACTERS, '\uFFFD');

function cleanValue(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return clean(value);
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), inner]));
}

/** JSON text that jsonb accepts: NUL and unpaired surrogates become U+FFFD. */
export const storableJson = (json: string): string =>
  REFUSED.test(json) ? JSON.stringify(JSON.parse(json), cleanValue) : json;

/** The same for a text parameter. */
export const storableText = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text);
