// The site of this project: its documents, and pages of the operations.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, siteDocuments } from './documents.mjs';
import { operationDocuments } from './operations.mjs';
import { buildSite } from './site.mjs';

/**
 * Writes the site. Throws as `buildSite` does.
 * @param options.specifications the OpenAPI documents by API: `application`, `admin`
 * @param options.out the folder, which is replaced
 * @returns how many pages were written
 */
export function buildWholeSite({ specifications, out }) {
  // As JSON has them: what is undefined is missing.
  const { documents, pages, codeLinks } = operationDocuments(JSON.parse(JSON.stringify(specifications)));
  const groups = JSON.parse(readFileSync(join(ROOT, 'docs/navigation.json'), 'utf8'));
  const navigation = groups.map((group) => ({ title: group.title, pages: group.pages ?? pages[group.operations] }));
  return buildSite({ documents: [...siteDocuments(), ...documents], navigation, codeLinks, out });
}
