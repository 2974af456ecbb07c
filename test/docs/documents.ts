import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

/** A Markdown file of the project. */
export interface MarkdownDocument {
  /** Path from the project's root. */
  path: string;
  text: string;
}

const markdownIn = (folder: string, { recursive }: { recursive: boolean }): string[] =>
  readdirSync(join(PACKAGE_ROOT, folder), { recursive, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** Every document for readers: those at the root, and all of `docs`. */
export function allDocuments(): MarkdownDocument[] {
  const paths = [
    ...markdownIn('.', { recursive: false }),
    ...markdownIn('docs', { recursive: true }),
    ...markdownIn('src/engine/history', { recursive: false }),
  ];
  return paths.map((path) => ({ path, text: readFileSync(join(PACKAGE_ROOT, path), 'utf8') }));
}

/** The anchor of a heading: lower case, spaces as dashes, without punctuation. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s-]/gu, '')
    .replaceAll(/\s/g, '-');

/** Broken links of a document: to a missing file, or to a heading that its file does not have. */
export function brokenLinks({ path, text }: MarkdownDocument): string[] {
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
  return targets.filter((target) => {
    if (/^https?:/.test(target)) return false;
    const [file, anchor] = target.split('#') as [string, string?];
    const full = file === '' ? join(PACKAGE_ROOT, path) : join(PACKAGE_ROOT, dirname(path), file);
    if (relative(PACKAGE_ROOT, full).startsWith('..') || !existsSync(full)) return true;
    if (anchor === undefined) return false;
    const headings = [...readFileSync(full, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!));
    return !headings.includes(anchor);
  });
}

const BLOCK = /^ *```.*\n([^]*?)^ *```/gm;

/** The code blocks of a document, including those in lists. */
export const blocksOf = ({ text }: MarkdownDocument): string[] => [...text.matchAll(BLOCK)].map(([, block]) => block!);

/** The code of a document: spans and blocks. */
export function codeOf(document: MarkdownDocument): string {
  const spans = [...document.text.replaceAll(BLOCK, '').matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!);
  return [...blocksOf(document), ...spans].join('\n');
}
