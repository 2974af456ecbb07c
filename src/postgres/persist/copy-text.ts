/** Values in Postgres's text format for COPY: columns end with a tab, rows with a line feed. */

const SPECIAL = /[\\\t\n\r\0]/;
const EACH_SPECIAL = /[\\\t\n\r\0]/g;
const ESCAPED: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\uFFFD' };

/** A text value. Replaces NUL, which Postgres cannot store, with U+FFFD. */
export const copyText = (value: string): string =>
  SPECIAL.test(value) ? value.replace(EACH_SPECIAL, (character) => ESCAPED[character] as string) : value;
