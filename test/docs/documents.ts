import type { MarkdownDocument } from '../../ops/docs/documents.mjs';

const BLOCK = /^ *```.*\n([^]*?)^ *```/gm;

/** The code blocks of a document, including those in lists. */
export const blocksOf = ({ text }: MarkdownDocument): string[] => [...text.matchAll(BLOCK)].map(([, block]) => block!);

/** The code of a document: spans and blocks. */
export function codeOf(document: MarkdownDocument): string {
  const spans = [...document.text.replaceAll(BLOCK, '').matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!);
  return [...blocksOf(document), ...spans].join('\n');
}
