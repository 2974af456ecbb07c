import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

interface Document {
  components: { schemas: Record<string, object> };
}

const load = (name: string): Document =>
  JSON.parse(readFileSync(new URL(`../contract/${name}.json`, import.meta.url), 'utf8')) as Document;

/**
 * Decodes answers like a typed language that knows one version of the contract. Throws for a fraction instead of an integer,
 * an unknown enum value, and a missing required field. Ignores additional fields.
 */
export function strictDecoder(version: '1.21.1' | '1.26.0'): (schema: string, body: unknown) => void {
  const documents = { application: load('application'), admin: load('admin'), newer: load('newer') };
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  if (version === '1.26.0')
    for (const [name, schema] of Object.entries(documents.newer.components.schemas))
      if ((schema as { 'x-surface': string })['x-surface'] === 'application')
        documents.application.components.schemas[name] = { $ref: `newer.json#/components/schemas/${name}` };
  for (const [name, document] of Object.entries(documents)) ajv.addSchema(document, `${name}.json`);
  return (pointer, body) => {
    if (!ajv.validate({ $ref: pointer }, body)) throw new Error(`${pointer}: ${ajv.errorsText()}`);
  };
}
