import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

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
  return ajv;
}
