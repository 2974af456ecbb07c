import fc from 'fast-check';
import type { Schema } from '../abuse/costliest/schema.ts';

/**
 * Existing values for a field or parameter of a name, e.g. `metricId`, so that requests pass the lookups; some of all kinds
 * for an unknown name.
 */
export type Known = (name: string) => readonly string[];

const AWKWARD_TEXTS = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  '__proto__',
  'constructor',
  'ключ',
  '💥',
  'a'.repeat(256),
  "'; --",
  '%00',
];
const AWKWARD_NUMBERS = [0, -0, -1, 0.1, 1e-7, 1e12, -1e12, 1e12 + 1, 2 ** 53, -(2 ** 53), 1e308, 5e-324];

const awkwardText = fc.oneof(fc.constantFrom(...AWKWARD_TEXTS), fc.string({ unit: 'binary', maxLength: 40 }));

const knownText = (known: Known, name: string): fc.Arbitrary<string> =>
  fc.nat().map((at) => {
    const texts = known(name);
    return texts[at % Math.max(1, texts.length)] ?? 'u1';
  });

const TEXTS_OF: Record<string, fc.Arbitrary<string>> = {
  uuid: fc.uuid(),
  date: fc
    .date({ min: new Date('2020-01-01'), max: new Date('2030-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  'date-time': fc
    .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  uri: fc.webUrl(),
  email: fc.emailAddress(),
};

/** Values that mostly fit the schema (patterns are not followed); texts are often known ones. */
export function fitting(schema: Schema, known: Known, name = ''): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => fitting(one, known, name)));
  switch ((Array.isArray(schema.type) ? schema.type[0] : schema.type) ?? 'any') {
    case 'string':
      return text(schema, known, name);
    case 'integer':
      return fc.oneof(
        fc.integer({ min: schema.minimum ?? -1_000, max: schema.maximum ?? 100_000 }),
        fc.constantFrom(1, 2),
      );
    case 'number':
      return fc.oneof(
        fc.integer({ min: -5, max: 50 }),
        fc.double({ min: schema.minimum ?? -1e12, max: schema.maximum ?? 1e12, noNaN: true }),
      );
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(fitting(schema.items ?? {}, known, name), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 4, Math.max(4, schema.minItems ?? 0)),
      });
    case 'object':
      return object(schema, known, name);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function text(schema: Schema, known: Known, name: string): fc.Arbitrary<string> {
  const formatted = TEXTS_OF[schema.format ?? ''];
  if (formatted !== undefined)
    return fc.oneof({ weight: 3, arbitrary: formatted }, { weight: 6, arbitrary: knownText(known, name) });
  const own = fc.string({ minLength: schema.minLength ?? 1, maxLength: Math.min(schema.maxLength ?? 12, 12) });
  return fc.oneof({ weight: 12, arbitrary: knownText(known, name) }, { weight: 2, arbitrary: own }, awkwardText);
}

function object(schema: Schema, known: Known, name: string): fc.Arbitrary<unknown> {
  const rest = Object.values(schema.patternProperties ?? {})[0] ?? schema.additionalProperties;
  const named = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([own, property]) => [own, fitting(property, known, own)]),
  );
  const record = fc.record(named, { requiredKeys: (schema.required ?? []).filter((own) => own in named) });
  if (typeof rest !== 'object') return record;
  const others = fc.dictionary(knownText(known, `keys of ${name}`), fitting(rest, known), { maxKeys: 3 });
  return fc.tuple(record, others).map(([own, more]) => ({ ...more, ...own }));
}

const awkward = fc.oneof(
  fc.constantFrom(...AWKWARD_NUMBERS, null, true, [], {}),
  awkwardText,
  fc.jsonValue({ maxDepth: 3 }),
);

/** Values that almost fit: one value somewhere inside replaced by an odd one, or missing, or one too many. */
export const nearly = (schema: Schema, known: Known): fc.Arbitrary<unknown> =>
  fc
    .tuple(
      fitting(schema, known),
      fc.array(fc.nat({ max: 20 }), { maxLength: 5 }),
      awkward,
      fc.constantFrom('put', 'drop', 'add'),
    )
    .map(([value, path, other, how]) => spoiled(value, { path, other, how }));

function spoiled(value: unknown, by: { path: number[]; other: unknown; how: 'put' | 'drop' | 'add' }): unknown {
  const { path, other, how } = by;
  const [step, ...rest] = path;
  if (step === undefined || value === null || typeof value !== 'object') return other;
  if (Array.isArray(value)) {
    if (how === 'add' && rest.length === 0) return [...(value as unknown[]), other];
    const at = step % Math.max(1, value.length);
    return value.flatMap((item: unknown, index) => (index === at ? spoiledItem(item, { rest, other, how }) : [item]));
  }
  const names = Object.keys(value);
  const name = how === 'add' && rest.length === 0 ? fc.stringify(other) : names[step % Math.max(1, names.length)];
  if (name === undefined) return other;
  const { [name]: old, ...others } = value as Record<string, unknown>;
  const [now] = spoiledItem(old, { rest, other, how });
  return how === 'drop' && rest.length === 0 ? others : { ...others, [name]: now };
}

const spoiledItem = (
  item: unknown,
  { rest, other, how }: { rest: number[]; other: unknown; how: 'put' | 'drop' | 'add' },
): unknown[] => (how === 'drop' && rest.length === 0 ? [] : [spoiled(item, { path: rest, other, how })]);

/** Any JSON value, and some values that JSON cannot express. */
export const garbage: fc.Arbitrary<string> = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constantFrom(
    '{',
    '[]',
    '[1',
    '"',
    'nul',
    '{"a":',
    '1e999',
    '[[[[[[[[[[[[',
    '{"__proto__":{"admin":true}}',
    '\ufeff{}',
  ),
  fc.integer({ min: 1_000, max: 20_000 }).map((depth) => '['.repeat(depth)),
);
