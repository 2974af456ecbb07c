/** A Markdown file of the project. */
export interface MarkdownDocument {
  /** Path from the project's root. */
  path: string;
  text: string;
  /** What the search of the site knows of it, if not its text. */
  search?: string;
}

export function siteDocuments(): MarkdownDocument[];
export function allDocuments(): MarkdownDocument[];
export function brokenLinks(document: MarkdownDocument, others?: readonly MarkdownDocument[]): string[];
