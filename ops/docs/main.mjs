// npm run docs: builds the site of the documentation in dist/docs. Needs the compiled code, for the OpenAPI documents.
import { join } from 'node:path';
import { adminOperations, applicationOperations } from '../../dist/src/operations/index.js';
import { openapiDocument } from '../../dist/src/operations/openapi.js';
import { ROOT } from './documents.mjs';
import { buildWholeSite } from './whole-site.mjs';

try {
  const pages = buildWholeSite({
    specifications: {
      application: openapiDocument('application', applicationOperations),
      admin: openapiDocument('admin', adminOperations),
    },
    out: join(ROOT, 'dist/docs'),
  });
  process.stdout.write(`${pages} pages: open dist/docs/index.html\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
