import type { TSchema } from 'typebox';
import { INSTEAD_OF_NULL, OLDER_VALUES, WHOLE } from '../domain/client-keywords.ts';
import type { Strictness } from './strict-client.ts';

/** A schema as it is written out. */
interface Written {
  properties?: Record<string, Written>;
  additionalProperties?: boolean | Written;
  items?: Written;
  anyOf?: readonly Written[];
  [WHOLE]?: boolean;
  [OLDER_VALUES]?: Readonly<Record<string, string>>;
  [INSTEAD_OF_NULL]?: unknown;
}

/** The value as the client reads it; the value itself is never changed: it may be a part of something that is kept. */
type Adapt = (value: unknown, client: Strictness) => unknown;

/** Writes an answer for a client that cannot read all of it. */
export type WriteAdapted = (answer: { body: unknown } | { json: string }, client: Strictness) => string | null;

/**
 * Compiles, at start and once, what writes an operation's answers for strict clients: numbers that are whole in the contract are
 * rounded down, newer values of enums become the nearest older ones, and null is replaced or left out. Returns `null` for an
 * operation without such fields, so that it does not even look at who asks. An answer that is JSON text is parsed only if something in it may have to change.
 */
export function adaptedWriter(responses: Responses): WriteAdapted | null {
  let writer = writers.get(responses);
  if (writer === undefined) writers.set(responses, (writer = compileWriter(responses)));
  return writer;
}

/** Of an operation, by status. */
type Responses = Readonly<Record<number, TSchema | null>>;

/** The surfaces have operations in common. */
const writers = new WeakMap<Responses, WriteAdapted | null>();

function compileWriter(responses: Responses): WriteAdapted | null {
  const text = JSON.stringify(Object.values(responses));
  const nullFields: string[] = [];
  const written = JSON.parse(text, (name, value: Written | null) => {
    if (value?.[INSTEAD_OF_NULL] !== undefined) nullFields.push(name);
    return value;
  }) as Written[];
  const adapt = adapterOf({ anyOf: written });
  if (adapt === null) return null;
  const hasWhole = text.includes(`"${WHOLE}"`);
  const newValues = new Set([...text.matchAll(NEW_VALUES)].flatMap(([, values]) => Object.keys(JSON.parse(values!))));
  const hasNull = new RegExp(`"(?:${nullFields.join('|')})":\\s*null`);
  const mayChange = (json: string, { wholeOnly, olderValues, refusesNull }: Strictness): boolean =>
    (refusesNull && nullFields.length > 0 && hasNull.test(json)) ||
    (wholeOnly && hasWhole && FRACTION.test(json)) ||
    (olderValues && [...newValues].some((value) => json.includes(`"${value}"`)));
  return (answer, client) => {
    if ('body' in answer) return answer.body === undefined ? null : JSON.stringify(adapt(answer.body, client));
    return mayChange(answer.json, client) ? JSON.stringify(adapt(JSON.parse(answer.json), client)) : answer.json;
  };
}

/** Found in texts too, which costs no more than a look in vain. */
const FRACTION = /\d(?:\.\d|e-\d)/;
const NEW_VALUES = new RegExp(`"${OLDER_VALUES}":(\\{[^}]*\\})`, 'g');

function adapterOf(schema: Written | null): Adapt | null {
  if (schema === null) return null;
  const steps = [
    schema[WHOLE] === true ? wholeNumber : null,
    schema[OLDER_VALUES] === undefined ? null : olderValue(schema[OLDER_VALUES]),
    schema[INSTEAD_OF_NULL] === undefined ? null : insteadOfNull(schema[INSTEAD_OF_NULL]),
    ...(schema.anyOf ?? []).map(adapterOf),
    ofItems(adapterOf(schema.items ?? null)),
    ofFields(schema),
  ].filter((step) => step !== null);
  if (steps.length < 2) return steps[0] ?? null;
  return (value, client) => steps.reduce((so, step) => step(so, client), value);
}

const wholeNumber: Adapt = (value, { wholeOnly }) =>
  wholeOnly && typeof value === 'number' ? Math.floor(value) : value;

const olderValue =
  (older: Readonly<Record<string, string>>): Adapt =>
  (value, { olderValues }) =>
    olderValues && typeof value === 'string' && Object.hasOwn(older, value) ? older[value] : value;

/** A field whose value becomes `undefined` is not written. */
const insteadOfNull =
  (other: unknown): Adapt =>
  (value, { refusesNull }) =>
    refusesNull && value === null ? (other ?? undefined) : value;

const ofItems = (adapt: Adapt | null): Adapt | null =>
  adapt && ((value, client) => (Array.isArray(value) ? value.map((item) => adapt(item, client)) : value));

function ofFields({ properties = {}, additionalProperties }: Written): Adapt | null {
  const others = typeof additionalProperties === 'object' ? adapterOf(additionalProperties) : null;
  const fields = new Map(
    Object.entries(properties).flatMap(([name, field]) => {
      const adapt = adapterOf(field);
      return adapt === null ? [] : [[name, adapt]];
    }),
  );
  if (fields.size === 0 && others === null) return null;
  return (value, client) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const adapted: Record<string, unknown> = { ...value };
    for (const name in adapted) {
      const adapt = fields.get(name) ?? (Object.hasOwn(properties, name) ? null : others);
      if (adapt !== null) adapted[name] = adapt(adapted[name], client);
    }
    return adapted;
  };
}
