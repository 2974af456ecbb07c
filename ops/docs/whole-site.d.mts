import type { MarkdownDocument } from './documents.mjs';
import type { NavigationGroup } from './site.mjs';

export function wholeSite(specifications: Record<'application' | 'admin', object>): {
  documents: MarkdownDocument[];
  navigation: NavigationGroup[];
  codeLinks: Map<string, string>;
};
