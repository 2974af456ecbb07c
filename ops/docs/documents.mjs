// The project's Markdown documents, their anchors, and the check of their links: for the site (`npm run docs`) and the tests.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lexer, walkTokens } from 'marked';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const markdownIn = (folder, { recursive }) =>
  readdirSync(join(ROOT, folder), { recursive, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => join(folder, name));

const read = (path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') });

/** The documents of the site: those at the root, and all of `docs`. */
export const siteDocuments = () =>
  [...markdownIn('.', { recursive: false }), ...markdownIn('docs', { recursive: true })].map(read);

/** Every document for readers. */
export const allDocuments = () => [
  ...siteDocuments(),
  ...markdownIn('src/engine/history', { recursive: false }).map(read),
];

/** The text of tokens without their marks. */
export const plainText = (tokens) =>
  tokens
    .map((token) => {
      if (token.type === 'br') return ' ';
      if (token.type === 'table')
        return [token.header, ...token.rows].flatMap((row) => row.map((cell) => plainText(cell.tokens))).join(' ');
      if (token.type === 'list') return token.items.map((item) => plainText(item.tokens)).join(' ');
      return token.tokens ? plainText(token.tokens) : (token.text ?? '');
    })
    .join('');

/** The anchor of a heading: lower case, spaces as dashes, without punctuation. */
const anchorOf = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\s-]/gu, '')
    .replaceAll(/\s/g, '-');

/** Made once of each text: many links lead to a heading of the same document. */
const outlines = new Map();

/**
 * A document's parts. `headings` have their token, depth, text without marks, and anchor: a repeated one gets a number. `links`
 * are the targets of links and images; code has none.
 */
export function outlineOf(text) {
  const known = outlines.get(text);
  if (known !== undefined) return known;
  const tokens = lexer(text);
  const headings = [];
  const links = [];
  const seen = new Map();
  void walkTokens(tokens, (token) => {
    if (token.type === 'link' || token.type === 'image') links.push(token.href);
    if (token.type !== 'heading') return;
    const plain = plainText(token.tokens);
    const anchor = anchorOf(plain);
    const repeated = seen.get(anchor) ?? 0;
    seen.set(anchor, repeated + 1);
    headings.push({ token, depth: token.depth, text: plain, anchor: repeated > 0 ? `${anchor}-${repeated}` : anchor });
  });
  const outline = { tokens, headings, links };
  outlines.set(text, outline);
  return outline;
}

/** Whether a link leads out of the project. */
export const isExternal = (target) => /^[a-z]+:/.test(target);

/** The file that a link of the document at `path` leads to, as a path from the root, and the anchor, if it has one. */
export function targetOf(path, link) {
  const [file, anchor] = link.split('#');
  return { file: file === '' ? path : join(dirname(path), decodeURI(file)), anchor };
}

/**
 * Broken links of a document: to a missing file, or to a heading that its file does not have.
 * @param document the document
 * @param others documents that need not exist as files
 */
export function brokenLinks({ path, text }, others = []) {
  return outlineOf(text).links.filter((link) => {
    if (isExternal(link)) return false;
    const { file, anchor } = targetOf(path, link);
    const other = file === path ? { text } : others.find((one) => one.path === file);
    const full = join(ROOT, file);
    if (!other && (relative(ROOT, full).startsWith('..') || !existsSync(full))) return true;
    if (anchor === undefined) return false;
    if (!other && !statSync(full).isFile()) return true;
    const { headings } = outlineOf(other?.text ?? readFileSync(full, 'utf8'));
    return !headings.some((heading) => heading.anchor === anchor);
  });
}
