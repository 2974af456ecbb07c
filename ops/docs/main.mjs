// npm run docs: builds the site of the documentation in dist/docs. Needs the compiled code, for the OpenAPI documents.
import { join } from 'node:path';
import { adminOperations, applicationOperations } from '../../dist/src/operations/index.js';
import { openapiDocument } from '../../dist/src/operations/openapi.js';
import { ROOT } from './documents.mjs';
import { buildSite } from './site.mjs';
import { wholeSite } from './whole-site.mjs';

try {
  const site = wholeSite({
    application: openapiDocument('application', applicationOperations),
    admin: openapiDocument('admin', adminOperations),
  });
  const pages = buildSite({ ...site, out: join(ROOT, 'dist/docs') });
  process.stdout.write(`${pages} pages: open dist/docs/index.html\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
