/** Lower-case keys by which a user is found, besides the ID; `null` for none. */
export interface SearchKeys {
  name: string | null;
  /** The last word of a name with several words. */
  lastName: string | null;
  email: string | null;
}

/** Index entries have a limited size, and nobody types more than this. */
const LONGEST = 255;

const UNSTORABLE = /[\0\uD800-\uDFFF]/gu;

/** The form of a text for comparison: lower case, without surrounding whitespace. */
export const searchText = (text: string): string =>
  text.normalize('NFC').toLowerCase().trim().slice(0, LONGEST).replaceAll(UNSTORABLE, '\uFFFD');

const NOTHING: SearchKeys = { name: null, lastName: null, email: null };

const orNull = (text: string): string | null => (text === '' ? null : text);

export function searchKeys({ name, email }: { name?: string | undefined; email?: string | undefined }): SearchKeys {
  if (name === undefined && email === undefined) return NOTHING;
  const text = searchText(name ?? '');
  const words = text === '' ? [] : text.split(/\s+/);
  return {
    name: orNull(text),
    lastName: words.length > 1 ? words.at(-1)! : null,
    email: orNull(searchText(email ?? '')),
  };
}
