import type { MarkdownDocument } from './documents.mjs';

export function operationDocuments(specifications: Record<string, object>): {
  documents: MarkdownDocument[];
  pages: Record<string, string[]>;
  codeLinks: Map<string, string>;
};
