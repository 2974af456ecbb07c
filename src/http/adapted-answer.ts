import type { TSchema } from 'typebox';
import type { OrganisationSettings } from '../domain/administration/admin.ts';
import { INSTEAD_OF_NULL, OLDER_VALUES, WHOLE } from '../domain/schemas.ts';
import type { RequestHead } from './request-head.ts';

interface Written {
  properties?: Record<string, Written>;
  additionalProperties?: boolean | Written;
  items?: Written;
  anyOf?: readonly Written[];
  [WHOLE]?: boolean;
  [OLDER_VALUES]?: Readonly<Record<string, string>>;
  [INSTEAD_OF_NULL]?: unknown;
}

/** Returns the value for a client. Never changes the original, which may be part of a cached object. */
type Adapt = (value: unknown, client: Strictness) => unknown;

export type WriteAdapted = (answer: { body: unknown } | { json: string }, client: Strictness) => string | null;

/**
 * Compiles, once at start, the function that adapts an operation's answers for strict clients: rounds down numbers that are whole in the
 * contract, replaces newer enum values by the nearest older ones, and replaces or omits `null`. Returns `null` for operations without such
 * fields, so that they do not even check the client. JSON text is parsed only if something in it may have to change.
 */
export function adaptedWriter(responses: Responses): WriteAdapted | null {
  let writer = writers.get(responses);
  if (writer === undefined) writers.set(responses, (writer = compileWriter(responses)));
  return writer;
}

/** An operation's answers by status. */
type Responses = Readonly<Record<number, TSchema | null>>;

/** Shared, because the surfaces have operations in common. */
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

/** May also match inside strings, which only costs an unnecessary parse. */
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

/** A field whose value becomes `undefined` is omitted. */
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

/** The kinds of values in an answer that a client cannot read. */
interface Strictness {
  /** Fractions where the contract has integers. */
  wholeOnly: boolean;
  /** Enum values newer than its version of the contract. */
  olderValues: boolean;
  /** `null` where the contract of 1.0 does not allow it. */
  refusesNull: boolean;
}

export type BoardValues = OrganisationSettings['boardValues'];

/** The oldest version of the contract that contains all enum values. */
const NEWEST = [1, 26] as const;

/** Its clients read any JSON number. */
const LENIENT_LANGUAGE = 'javascript';

/**
 * Which values a request's client cannot read; `null` if it can read everything. Generated clients send their language, their version of the
 * contract, or both. A language without a version means an old client; a version without a language (Go) means a client that needs whole numbers.
 * A client that sends neither can read everything.
 * @param boardValues the organisation's setting
 */
export function strictnessOf(
  { language, contractVersion }: Pick<RequestHead, 'language' | 'contractVersion'>,
  boardValues: BoardValues,
): Strictness | null {
  const isNamed = language !== null || contractVersion !== null;
  const needsWhole = isNamed && language?.toLowerCase() !== LENIENT_LANGUAGE;
  const wholeOnly = boardValues === 'whole' || (boardValues === 'byClient' && needsWhole);
  const olderValues = isNamed && !isNewest(contractVersion ?? '');
  const refusesNull = isNamed && isFirst(contractVersion);
  return wholeOnly || olderValues ? { wholeOnly, olderValues, refusesNull } : null;
}

/** Clients of 1.0 send that version or none. */
const isFirst = (version: string | null): boolean => version === null || /^1\.0(\.|$)/.test(version);

function isNewest(version: string): boolean {
  const [, major, minor] = /^(\d{1,6})\.(\d{1,6})/.exec(version) ?? [];
  if (major === undefined) return false;
  return Number(major) > NEWEST[0] || (Number(major) === NEWEST[0] && Number(minor) >= NEWEST[1]);
}
