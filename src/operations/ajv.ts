import { _, type FuncKeywordDefinition } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { INSTEAD_OF_NULL, MAX_BYTES, OLDER_VALUES, WHOLE } from '../domain/schemas.ts';
import { MISPLACED } from '../domain/notifications/live.ts';

/** No character takes more bytes of UTF-8 than 3 a UTF-16 unit, so that most texts need not be measured. */
const MOST_BYTES_A_UNIT = 3;

const maxBytes: FuncKeywordDefinition = {
  keyword: MAX_BYTES,
  type: 'string',
  schemaType: 'number',
  // A text that is too long is reported in bytes, where both keywords say so.
  before: 'maxLength',
  errors: false,
  error: { message: 'has too many bytes', params: ({ schema }) => _`{limit: ${schema}}` },
  compile: (limit: number) => (text: string) =>
    text.length * MOST_BYTES_A_UNIT <= limit || Buffer.byteLength(text) <= limit,
};

/** What compiles schemas, of requests and of their items alike. `useDefaults`: what is left out of a value gets its default. */
export function makeAjv({ useDefaults = false }: { useDefaults?: boolean } = {}): Ajv2020 {
  const ajv = new Ajv2020({
    useDefaults,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
  });
  formats.default(ajv);
  // Stricter than the library's, which takes `urn:uuid:…` too.
  ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i);
  ajv.addKeyword(maxBytes);
  // Said to what writes answers; a check passes them over.
  ajv.addVocabulary([WHOLE, OLDER_VALUES, INSTEAD_OF_NULL, MISPLACED]);
  return ajv;
}
