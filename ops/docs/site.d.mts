import type { MarkdownDocument } from './documents.mjs';

/** Pages under a title; a page is the path of its document. */
export interface NavigationGroup {
  title: string;
  pages: string[];
}

export function buildSite(options: {
  documents: readonly MarkdownDocument[];
  navigation: readonly NavigationGroup[];
  codeLinks?: ReadonlyMap<string, string>;
  out: string;
}): number;
