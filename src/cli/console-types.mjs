// Writes the types of the console's API client, generated from Laurel's own OpenAPI documents. `npm run check` runs
// this first, so that an API change that the console does not follow is a type error.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { build } from './build.mjs';

// The generator prints with the compiler's library, which the current compiler no longer includes.
const redirect = `export const resolve = (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context);`;
register(`data:text/javascript,${encodeURIComponent(redirect)}`);

const FOLDER = new URL('../../console/generated/', import.meta.url);

if (!build()) process.exit(1);
const { openapiDocument } = await import('../../dist/src/operations/openapi.js');
const { adminOperations, applicationOperations } = await import('../../dist/src/operations/index.js');

mkdirSync(FOLDER, { recursive: true });
for (const [surface, operations] of Object.entries({ admin: adminOperations, application: applicationOperations })) {
  // Without texts, which are two thirds of the document and of the time.
  const document = JSON.stringify(openapiDocument(surface, operations), (name, value) =>
    (name === 'description' && typeof value === 'string') || name === 'examples' || name === 'example'
      ? undefined
      : value,
  );
  const mark = `// ${createHash('sha256').update(document).digest('hex')}\n`;
  const file = new URL(`${surface}.ts`, FOLDER);
  if (existing(file).startsWith(mark)) continue;
  const { default: openapiTypes, astToString } = await import('openapi-typescript');
  writeFileSync(file, mark + astToString(await openapiTypes(document, { silent: true, defaultNonNullable: false })));
}

function existing(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
