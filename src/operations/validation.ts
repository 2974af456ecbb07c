import {
  _,
  type CodeKeywordDefinition,
  type ErrorObject,
  type FuncKeywordDefinition,
  type ValidateFunction,
} from 'ajv';
import formats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import { nearest, suggestion } from '../domain/nearest.ts';
import { MISPLACED } from '../domain/notifications/live.ts';
import {
  INSTEAD_OF_NULL,
  KEY_PATTERN,
  MAX_BYTES,
  OLDER_VALUES,
  TIME_OF_DAY_PATTERN,
  WHOLE,
} from '../domain/schemas.ts';
import { HTTP_URL_PATTERN } from '../domain/settings.ts';
import { EMAIL_PATTERN, USER_ID_PATTERN } from '../domain/user.ts';
import { counted } from '../domain/words.ts';

/** A UTF-16 unit takes at most 3 bytes in UTF-8, so most texts need not be measured. */
const MOST_BYTES_A_UNIT = 3;

const maxBytes: FuncKeywordDefinition = {
  keyword: MAX_BYTES,
  type: 'string',
  schemaType: 'number',
  // Reports the size of a too long text in bytes if both keywords apply.
  before: 'maxLength',
  errors: false,
  error: { message: 'has too many bytes', params: ({ schema }) => _`{limit: ${schema}}` },
  compile: (limit: number) => (text: string) =>
    text.length * MOST_BYTES_A_UNIT <= limit || Buffer.byteLength(text) <= limit,
};

/** A character takes one or two UTF-16 units. */
const hasMoreCharacters = (text: string, limit: number): boolean => {
  let count = 0;
  for (const _character of text) if ((count += 1) > limit) return true;
  return false;
};

/** Like Ajv's, which counts the characters of every text, for whose length one look is mostly enough. */
const maxLength: CodeKeywordDefinition = {
  keyword: 'maxLength',
  type: 'string',
  schemaType: 'number',
  // As Ajv has it.
  before: 'minLength',
  error: { params: ({ schema }) => _`{limit: ${schema}}`, message: 'has too many characters' },
  code: (context) => {
    const { gen, data, schemaCode } = context;
    const counted = gen.scopeValue('func', { ref: hasMoreCharacters });
    context.fail(_`${data}.length > ${schemaCode} && ${counted}(${data}, ${schemaCode})`);
  },
};

/** A schema compiler. `useDefaults`: adds defaults. `allErrors`: reports all errors instead of the first. `isChecked`: skips checking the schemas. */
export function makeAjv({ useDefaults = false, isChecked = false, allErrors = false } = {}): Ajv2020 {
  const ajv = new Ajv2020({
    useDefaults,
    allErrors,
    ...(isChecked && { validateSchema: false, meta: false }),
    strict: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
  });
  formats.default(ajv);
  // Stricter than the library's format, which accepts `urn:uuid:…`.
  ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i);
  ajv.removeKeyword('maxLength');
  ajv.addKeyword(maxLength);
  ajv.addKeyword(maxBytes);
  // Keywords for writing answers; checks ignore them.
  ajv.addVocabulary([WHOLE, OLDER_VALUES, INSTEAD_OF_NULL, MISPLACED]);
  return ajv;
}

// A test compiles all of them (`test/operations/index.test.ts`).
const plain = makeAjv({ isChecked: true });
const withDefaults = makeAjv({ isChecked: true, useDefaults: true });
const exhaustive = makeAjv({ isChecked: true, allErrors: true });

/**
 * Returns a function that finds the first fault of a value; `null` if there is none. The first call compiles the schema,
 * because most processes use few. `useDefaults`: adds missing defaults to the value.
 */
export function faultFinder(
  schema: TSchema,
  { useDefaults = false }: { useDefaults?: boolean } = {},
): (value: unknown) => ValidationMessage | null {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= (useDefaults ? withDefaults : plain).compile(schema);
    return validate(value) ? null : validationMessage(validate.errors ?? [], value);
  };
}

/** Most faults that are reported about one value. */
const MOST_FAULTS = 100;

/** Values in a body of which all faults are looked for: each can have some, and all are collected at once. */
const MOST_VALUES = 10_000;

/** The same for all faults of a value, at most 100. An empty list if there is none. */
function exhaustiveFinder(schema: TSchema): (value: unknown) => ValidationMessage[] {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= exhaustive.compile(schema);
    if (validate(value)) return [];
    return groupsOf(validate.errors ?? [])
      .slice(0, MOST_FAULTS)
      .map((errors) => validationMessage(errors, value));
  };
}

const isLarge = (value: unknown): boolean => countValues(value, MOST_VALUES) > MOST_VALUES;

/** The same; of a large value only the first fault. For values that seldom have faults. */
export function allFaultsFinder(schema: TSchema): (value: unknown) => ValidationMessage[] {
  const firstFaultOf = faultFinder(schema);
  const faultsOf = exhaustiveFinder(schema);
  return (value) => {
    const first = firstFaultOf(value);
    if (first === null) return [];
    return isLarge(value) ? [first] : faultsOf(value);
  };
}

/** The same for schemas whose compilation takes long: most processes compile it once instead of twice. */
export function itemFaultsFinder(schema: TSchema): (value: unknown) => ValidationMessage[] {
  const firstFaultOf = faultFinder(schema);
  const faultsOf = exhaustiveFinder(schema);
  return (value) => {
    if (!isLarge(value)) return faultsOf(value);
    const first = firstFaultOf(value);
    return first === null ? [] : [first];
  };
}

/** The number of values in a value, itself included. Stops above `most`. */
function countValues(value: unknown, most: number): number {
  let count = 1;
  if (typeof value !== 'object' || value === null) return count;
  for (const name in value) {
    count += countValues((value as Record<string, unknown>)[name], most - count);
    if (count > most) break;
  }
  return count;
}

/** Ajv's errors by fault: those of alternatives, which come first, with the error that none of them fits. */
function groupsOf(errors: readonly ErrorObject[]): ErrorObject[][] {
  const groups: ErrorObject[][] = [];
  for (const error of errors) {
    const group = [error];
    if (error.keyword === 'anyOf' || error.keyword === 'oneOf')
      while (groups.at(-1)?.at(-1)!.schemaPath.startsWith(`${error.schemaPath}/`)) group.unshift(...groups.pop()!);
    groups.push(group);
  }
  return groups;
}

export interface ValidationMessage {
  /** E.g. `user.id` or `[3].value`; '' for the whole value. */
  field: string;
  text: string;
  keyword: string;
  /** Whether the value is well-formed but unusable: 422 instead of 400. */
  unusable: boolean;
}

const NOUNS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

const FORMATS: Record<string, string> = {
  date: 'must be a date (YYYY-MM-DD)',
  'date-time': 'must be a time with Z or an offset, such as 2026-11-30T08:00:00Z (ISO 8601)',
  uuid: 'must be a UUID, not a key or name',
  email: 'must be an e-mail address',
  uri: 'must be a URL',
};

const PATTERNS: Record<string, string> = {
  [KEY_PATTERN]: 'must be letters, digits, hyphens and underscores only',
  [HTTP_URL_PATTERN]: 'must be a URL that begins with https:// or http://',
  [EMAIL_PATTERN]: 'must be an e-mail address',
  [USER_ID_PATTERN]: "must not be '.' or '..', which no URL can contain",
  [TIME_OF_DAY_PATTERN]: 'must be a time of day (HH:MM or HH:MM:SS)',
};

const noun = (type: string): string => NOUNS[type] ?? type;
const listed = (values: readonly unknown[]): string => values.map(String).join(', ');

/** Tolerated share of different characters in a value: `user.created` is not like `user.merged`. */
const VALUE_SHARE = 0.25;
/** A longer list is left out of a message that suggests one of its values. */
const MOST_LISTED = 10;

/** A short list of allowed values is written out, a long one only if none of its values is like the sent one. */
function enumText({ allowedValues, sent }: Params): string {
  const hint = typeof sent === 'string' ? suggestion(sent, allowedValues.map(String), VALUE_SHARE) : '';
  return hint !== '' && allowedValues.length > MOST_LISTED
    ? `is not one of the ${allowedValues.length} allowed values${hint}`
    : `must be one of: ${listed(allowedValues)}${hint}`;
}

/** Ajv's parameters of the failed keyword, and the value that does not fit. */
interface Params {
  sent: unknown;
  type: string | string[];
  format: string;
  pattern: string;
  limit: number;
  multipleOf: number;
  allowedValue: unknown;
  allowedValues: readonly unknown[];
}

const TEXTS: Record<string, (params: Params) => string> = {
  type: ({ type }) => `must be ${[type].flat().map(noun).join(' or ')}`,
  required: () => 'is required',
  enum: enumText,
  const: ({ allowedValue }) => `must be ${String(allowedValue)}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  exclusiveMinimum: ({ limit }) => `must be greater than ${limit}`,
  exclusiveMaximum: ({ limit }) => `must be less than ${limit}`,
  multipleOf: ({ multipleOf }) => `must be a multiple of ${multipleOf}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${counted(limit, 'character')}`),
  maxLength: ({ limit }) => `must have at most ${counted(limit, 'character')}`,
  [MAX_BYTES]: ({ limit }) => `must have at most ${counted(limit, 'byte')} in UTF-8`,
  minItems: ({ limit }) => `must have at least ${counted(limit, 'item')}`,
  maxItems: ({ limit }) => `must have at most ${counted(limit, 'item')}`,
  uniqueItems: () => 'must not name anything twice',
  minProperties: ({ limit }) => `must have at least ${counted(limit, 'field')}`,
  maxProperties: ({ limit }) => `must have at most ${counted(limit, 'field')}`,
  additionalProperties: () => 'is not a known field',
  format: ({ format }) => FORMATS[format] ?? `must have the format ${format}`,
  pattern: ({ pattern }) => PATTERNS[pattern] ?? 'has characters or a form that are not allowed',
};

/** `/user/id` → `user.id`, `/3/value` → `[3].value`. */
function fieldOf(pointer: string): string {
  let field = '';
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    field += /^\d+$/.test(name) ? `[${name}]` : field === '' ? name : `.${name}`;
  }
  return field;
}

/** The part of a value at a JSON pointer. */
const valueAt = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce(
      (inside, part) => (inside as Record<string, unknown> | null)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')],
      value,
    );

function messageOf(error: ErrorObject, value: unknown): ValidationMessage {
  const extra = error.params['missingProperty'] ?? error.params['additionalProperty'];
  const pointer = extra === undefined ? error.instancePath : `${error.instancePath}/${String(extra)}`;
  const params = { ...error.params, sent: valueAt(value, error.instancePath) } as Params;
  const text = TEXTS[error.keyword]?.(params) ?? error.message ?? 'does not fit';
  const unusable = error.params['pattern'] === USER_ID_PATTERN;
  return { field: fieldOf(pointer), text, keyword: error.keyword, unusable };
}

/** The message for Ajv's first error: that of the alternative with the right type, else the list of types. */
function validationMessage(errors: readonly ErrorObject[], value: unknown): ValidationMessage {
  const last = errors.at(-1);
  if (!last) return { field: '', text: 'does not fit', keyword: '', unusable: false };
  if (last.keyword !== 'anyOf' && last.keyword !== 'oneOf') return messageOf(last, value);
  const inner = errors.slice(0, -1);
  const types = inner.filter((error) => error.keyword === 'type' && error.instancePath === last.instancePath);
  const closest = inner.find(
    (error) => !types.includes(error) && error.keyword !== 'anyOf' && error.keyword !== 'oneOf',
  );
  if (closest) return messageOf(closest, value);
  const type = types.flatMap((error) => error.params['type'] as string | string[]);
  if (type.length === 0) return { ...messageOf(last, value), text: 'fits none of the allowed forms' };
  return { ...messageOf(last, value), text: `must be ${type.map(noun).join(' or ')}` };
}

const MOST_NAMED = 10;
const NAME_LENGTH = 64;
/** Share of characters in which a suggestion may differ: `repetitionUnit` still finds `runUnit`. */
const FIELD_SHARE = 0.6;

interface Shape {
  type?: string;
  properties?: Record<string, Shape>;
  items?: Shape;
  maxItems?: number;
  anyOf?: Shape[];
}

interface UnknownField {
  /** E.g. `leaderboards[0].repetitionUnit`. */
  path: string;
  nearest: string | null;
}

/** Names a value's unknown fields, each with the most similar known one; `null`: all are known. */
export function unknownFieldsText(schema: TSchema, value: unknown): string | null {
  const unknown: UnknownField[] = [];
  collect(schema as Shape, value, { path: '', found: unknown });
  if (unknown.length === 0) return null;
  const named = unknown.slice(0, MOST_NAMED).map(({ path, nearest }) => {
    const hint = nearest === null ? '' : ` (did you mean ${nearest}?)`;
    return `${path} is not a known field${hint}`;
  });
  return named.join(', ') + (unknown.length > MOST_NAMED ? ', and there are more' : '');
}

/** The hint for a missing field: unknown fields that were sent beside it, with the most similar known ones; `undefined` if there are none. */
export function unknownBeside(schema: TSchema, value: unknown, missing: string): string | undefined {
  const unknown: UnknownField[] = [];
  collect(schema as Shape, value, { path: '', found: unknown });
  const parent = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('.'), 0));
  const beside = unknown.filter(({ path }) => parent(path) === parent(missing)).map(({ path }) => path);
  if (beside.length === 0) return undefined;
  return `Not known here: ${beside.slice(0, MOST_NAMED).join(', ')}.`;
}

function collect(schema: Shape, value: unknown, at: { path: string; found: UnknownField[] }): void {
  if (value === null || typeof value !== 'object' || at.found.length > MOST_NAMED) return;
  const { path, found } = at;
  if (schema.anyOf !== undefined) {
    const type = Array.isArray(value) ? 'array' : 'object';
    const fitting = schema.anyOf.find((one) => one.type === type);
    if (fitting !== undefined) collect(fitting, value, at);
  } else if (Array.isArray(value)) {
    const { items, maxItems = Infinity } = schema;
    // A list that is too long is refused for that reason.
    if (items === undefined || value.length > maxItems) return;
    for (const [index, item] of value.entries()) collect(items, item, { path: `${path}[${index}]`, found });
  } else if (schema.properties !== undefined) {
    const { properties } = schema;
    for (const name in value) {
      const inside = path === '' ? name.slice(0, NAME_LENGTH) : `${path}.${name.slice(0, NAME_LENGTH)}`;
      if (!Object.hasOwn(properties, name)) {
        const notGiven = Object.keys(properties).filter((known) => !Object.hasOwn(value, known));
        found.push({ path: inside, nearest: nearest(name, notGiven, FIELD_SHARE) });
      } else collect(properties[name]!, (value as Record<string, unknown>)[name], { path: inside, found });
      if (found.length > MOST_NAMED) return;
    }
  }
}

/** A written schema, which also contains what TypeBox and `bulk.ts` exclude from checks, such as the items of bulk calls. */
interface Written {
  type?: string | readonly string[];
  properties?: Record<string, Written>;
  required?: readonly string[];
  additionalProperties?: boolean | Written;
  items?: Written;
  anyOf?: readonly Written[];
  oneOf?: readonly Written[];
}

type Drop = (value: unknown) => void;

/** A field, combined from all alternatives that have it. */
interface Field {
  /** `null` means that it was not sent. */
  unset: boolean;
  drop: Drop | null;
}

/**
 * Creates a function that removes a request's optional `null` fields in place, because `null` means "not sent". Keeps a
 * field whose own schema allows `null`, and a required one, so that the check reports it. Cost: O(fields sent), so it
 * is called only for bodies that contain `null`.
 */
export const unsentDropper = (schema: TSchema): Drop =>
  dropperOf([JSON.parse(JSON.stringify(schema)) as Written]) ?? (() => undefined);

function dropperOf(schemas: readonly Written[]): Drop | null {
  if (schemas.length === 0) return null;
  const alternatives = schemas.flatMap(alternativesOf);
  const fields = fieldsOf(alternatives);
  const rest = alternatives.flatMap(({ additionalProperties: all }) => (typeof all === 'object' ? [all] : []));
  const others = rest.length === 0 ? null : { unset: !rest.some(takesNull), drop: dropperOf(rest) };
  const items = dropperOf(alternatives.flatMap((each) => each.items ?? []));
  const ofObject = fields.size === 0 && others === null ? null : objectDropper(fields, others);
  if (ofObject === null && items === null) return null;
  return (value) => {
    if (Array.isArray(value)) {
      if (items !== null) for (const item of value) items(item);
    } else if (typeof value === 'object' && value !== null) ofObject?.(value as Record<string, unknown>);
  };
}

const objectDropper =
  (fields: ReadonlyMap<string, Field>, others: Field | null) =>
  (value: Record<string, unknown>): void => {
    for (const name of Object.keys(value)) {
      const field = fields.get(name) ?? others;
      if (field === null) continue;
      if (value[name] !== null) field.drop?.(value[name]);
      else if (field.unset) delete value[name];
    }
  };

function fieldsOf(alternatives: readonly Written[]): Map<string, Field> {
  const names = new Set(alternatives.flatMap(({ properties = {} }) => Object.keys(properties)));
  return new Map(
    [...names].map((name) => {
      const knowing = alternatives.filter(({ properties }) => properties?.[name] !== undefined);
      const schemas = knowing.map(({ properties }) => properties![name]!);
      const optional = knowing.some(({ required = [] }) => !required.includes(name));
      return [name, { unset: optional && !schemas.some(takesNull), drop: dropperOf(schemas) }];
    }),
  );
}

const alternativesOf = (schema: Written): Written[] => [
  schema,
  ...(schema.anyOf ?? []).flatMap(alternativesOf),
  ...(schema.oneOf ?? []).flatMap(alternativesOf),
];

const takesNull = (schema: Written): boolean =>
  alternativesOf(schema).some(({ type }) => [type].flat().includes('null'));
