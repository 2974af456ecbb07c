import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect, test } from 'vitest';
import { configurationJsonSchema } from '../../src/domain/configuration.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

const FILE = join(PACKAGE_ROOT, 'docs/configuration.schema.json');
const DOCUMENT = readFileSync(join(PACKAGE_ROOT, 'docs/configuration.md'), 'utf8');

// UPDATE_SCHEMA=1 writes the file.
test('docs/configuration.schema.json is the schema of the configuration document', () => {
  if (process.env['UPDATE_SCHEMA'] === '1')
    writeFileSync(FILE, `${JSON.stringify(configurationJsonSchema(), null, 2)}\n`);
  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(configurationJsonSchema());
});

test('the example fits it, and a document with a mistake does not', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  const fits = ajv.compile(JSON.parse(readFileSync(FILE, 'utf8')));
  const example = JSON.parse(/^```json\n([^]*?)^```/m.exec(DOCUMENT)![1]!);
  expect([fits(example), fits.errors]).toEqual([true, null]);
  expect(fits({ ...example, metrics: [{ key: 'no name' }] })).toBe(false);
  expect(fits({ ...example, metrics: [{ key: 'a', name: 'A', unit: 'cards' }] })).toBe(false);
});
