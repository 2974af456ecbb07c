/** Values in Postgres's text format for COPY: columns end with a tab, rows with a line feed, `\N` is null. */

const SPECIAL = /[\\\t\n\r\0]/;
const EACH_SPECIAL = /[\\\t\n\r\0]/g;
const ESCAPED: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\uFFFD' };

export const COPY_NULL = '\\N';

/** A text value. A NUL, which Postgres cannot hold, becomes U+FFFD. */
export const copyText = (value: string): string =>
  SPECIAL.test(value) ? value.replace(EACH_SPECIAL, (character) => ESCAPED[character] as string) : value;

let lastMs = Number.NaN;
let lastText = '';

/** A timestamptz from epoch ms. The rows of one script call share the time, so the last one is kept. */
export function copyTimestamp(ms: number): string {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastText;
}
