// npm run docs: builds the site of the documentation in dist/docs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, siteDocuments } from './documents.mjs';
import { buildSite } from './site.mjs';

const documents = siteDocuments();
const navigation = JSON.parse(readFileSync(join(ROOT, 'docs/navigation.json'), 'utf8'));
try {
  const pages = buildSite({ documents, navigation, out: join(ROOT, 'dist/docs') });
  process.stdout.write(`${pages} pages: open dist/docs/index.html\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
