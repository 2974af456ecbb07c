/** Rewrites the HTML of an e-mail so that it reports when it is opened and when a link is followed. Pure. */
import { ATTRIBUTE, escapeHtml, TAG, TAG_NAME } from './message-html.ts';

const LINKS = new Set(['a', 'area']);

const CHARACTERS: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const REFERENCE = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z][a-zA-Z\d]*));/g;

/** The text of an attribute; `null` if it has a character reference that is not decoded here. */
function attributeText(source: string): string | null {
  let isKnown = true;
  const text = source.replaceAll(REFERENCE, (whole, decimal?: string, hex?: string, name?: string) => {
    const code = decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal);
    const character = name === undefined ? characterOf(code) : CHARACTERS[name];
    isKnown &&= character !== undefined;
    return character ?? whole;
  });
  return isKnown ? text : null;
}

const characterOf = (code: number): string | undefined =>
  code >= 0x20 && code < 0x7f ? String.fromCodePoint(code) : undefined;

/**
 * The HTML with other addresses in its links.
 * @param other the address instead of one; `null`: it stays
 */
export const withLinks = (html: string, other: (url: string) => string | null): string =>
  html.replaceAll(TAG, (tag) => {
    if (!LINKS.has(TAG_NAME.exec(tag)?.[1]?.toLowerCase() ?? '')) return tag;
    return tag.replaceAll(ATTRIBUTE, (whole: string, name: string, quoted: string) => {
      if (name.toLowerCase() !== 'href') return whole;
      const url = attributeText(quoted.slice(1, -1).trim());
      const changed = url === null ? null : other(url);
      return changed === null ? whole : ` ${name}="${escapeHtml(changed)}"`;
    });
  });

const BODY_END = /<\/body\s*>/i;

/** The HTML with an invisible picture at its end. */
export function withPixel(html: string, url: string): string {
  const pixel = `<img src="${escapeHtml(url)}" width="1" height="1" alt="">`;
  const end = html.search(BODY_END);
  return end === -1 ? html + pixel : html.slice(0, end) + pixel + html.slice(end);
}
