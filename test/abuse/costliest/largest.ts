import type { Schema } from './schema.ts';

/** Values of fields by name, so that requests pass the lookups. */
export type Known = Readonly<Record<string, unknown>>;

const FORMATS: Record<string, string> = {
  uuid: '0191d6f0-0000-7000-8000-000000000001',
  date: '2026-11-18',
  'date-time': '2026-11-18T12:00:00.000Z',
};
const MOST_NUMBER = 1_000_000;
/** Length in characters of a text without a bound of its own, if the size permits. */
const LONG = 20_000;

/**
 * The largest value of a schema that fits into a number of bytes of JSON: every field, the longest texts and as many items
 * as fit. Items have every field while there is room; if their number is unbounded, they are as small as possible.
 */
export function largest(
  schema: Schema,
  { bytes, known, name = '' }: { bytes: number; known: Known; name?: string },
): unknown {
  if (Object.hasOwn(known, name)) return known[name];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum.at(-1);
  if (schema.anyOf !== undefined) return largest(schema.anyOf[0]!, { bytes, known, name });
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'string') return FORMATS[schema.format ?? ''] ?? 'x'.repeat(textLength(schema, bytes));
  if (type === 'integer' || type === 'number') return Math.min(schema.maximum ?? MOST_NUMBER, MOST_NUMBER);
  if (type === 'boolean') return true;
  if (type === 'array') return items(schema, { bytes, known, name });
  if (type === 'object') return fields(schema, { bytes, known, name });
  return null;
}

const textLength = ({ maxLength = LONG }: Schema, bytes: number): number =>
  Math.max(1, Math.min(maxLength, Math.floor(bytes) - 4));

function items(schema: Schema, { bytes, known, name }: { bytes: number; known: Known; name: string }): unknown[] {
  const item = schema.items ?? { type: 'string' };
  if (schema.uniqueItems === true) return distinct(schema, item);
  const bounded = schema.maxItems !== undefined && schema.maxItems <= 1_000;
  const each = bounded ? bytes / schema.maxItems! : 1;
  const one = largest(item, { bytes: each - 1, known, name: `${name} item` });
  const weight = JSON.stringify(one).length + 1;
  return Array.from(
    { length: Math.max(1, Math.min(schema.maxItems ?? Infinity, Math.floor(bytes / weight))) },
    () => one,
  );
}

/** As many different items as there may be. */
function distinct({ maxItems = 100 }: Schema, item: Schema): unknown[] {
  const values = item.enum ?? item.anyOf?.map((one) => one.const) ?? numbered(maxItems);
  if (item.type !== 'integer') return values.slice(0, maxItems);
  const { minimum = 0, maximum = maxItems } = item;
  return Array.from({ length: Math.min(maxItems, maximum - minimum + 1) }, (_, at) => minimum + at);
}

function fields(schema: Schema, { bytes, known, name }: { bytes: number; known: Known; name: string }): object {
  const rest = Object.values(schema.patternProperties ?? {})[0] ?? schema.additionalProperties;
  const own = Object.entries(schema.properties ?? {});
  if (own.length === 0 && typeof rest === 'object') {
    const keys = (known[`keys of ${name}`] as string[] | undefined) ?? numbered(bytes / 14);
    return Object.fromEntries(
      keys.map((key) => [key, largest(rest, { bytes: bytes / keys.length - key.length - 6, known })]),
    );
  }
  const required = own.filter(([field]) => schema.required?.includes(field));
  // With little room left, only required fields.
  const shown = bytes < own.length * 40 ? required : own;
  const names = shown.reduce((sum, [field]) => sum + field.length + 6, 0);
  const share = Math.max(1, (bytes - names) / Math.max(1, shown.length));
  return Object.fromEntries(
    shown.map(([field, property]) => [field, largest(property, { bytes: share, known, name: field })]),
  );
}

const numbered = (count: number): string[] =>
  Array.from({ length: Math.max(1, Math.floor(count)) }, (_, at) => `k${at}`);
