// The site of this project: its documents, and pages of the operations.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, siteDocuments } from './documents.mjs';
import { operationDocuments } from './operations.mjs';

/**
 * What `buildSite` needs, except the folder.
 * @param specifications the OpenAPI documents by API: `application`, `admin`
 */
export function wholeSite(specifications) {
  // As JSON has them: what is undefined is missing.
  const { documents, pages, codeLinks } = operationDocuments(JSON.parse(JSON.stringify(specifications)));
  const groups = JSON.parse(readFileSync(join(ROOT, 'docs/navigation.json'), 'utf8'));
  const navigation = groups.map((group) => ({ title: group.title, pages: group.pages ?? pages[group.operations] }));
  return { documents: [...siteDocuments(), ...documents], navigation, codeLinks };
}
