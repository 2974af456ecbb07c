import type { ErrorObject } from 'ajv';
import { KEY_PATTERN, MAX_BYTES, TIME_OF_DAY_PATTERN } from '../domain/schemas.ts';
import { HTTP_URL_PATTERN } from '../domain/settings.ts';
import { EMAIL_PATTERN, USER_ID_PATTERN } from '../domain/user.ts';

/** Why a value does not fit its schema: the field, readable, and what is asked of it. */
export interface ValidationMessage {
  /** E.g. `user.id` or `[3].value`; '' for the whole value. */
  field: string;
  text: string;
  keyword: string;
  /** Whether the value has the right form and still cannot be used: 422 instead of 400. */
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
  'date-time': 'must be a time (ISO 8601)',
  uuid: 'must be a UUID',
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
const plural = (n: number, unit: string): string => `${n} ${unit}${n === 1 ? '' : 's'}`;
const listed = (values: readonly unknown[]): string => values.map(String).join(', ');

/** What Ajv reports about the keyword that failed. */
interface Params {
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
  enum: ({ allowedValues }) => `must be one of: ${listed(allowedValues)}`,
  const: ({ allowedValue }) => `must be ${String(allowedValue)}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  exclusiveMinimum: ({ limit }) => `must be greater than ${limit}`,
  exclusiveMaximum: ({ limit }) => `must be less than ${limit}`,
  multipleOf: ({ multipleOf }) => `must be a multiple of ${multipleOf}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${plural(limit, 'character')}`),
  maxLength: ({ limit }) => `must have at most ${plural(limit, 'character')}`,
  [MAX_BYTES]: ({ limit }) => `must have at most ${plural(limit, 'byte')} in UTF-8`,
  minItems: ({ limit }) => `must have at least ${plural(limit, 'item')}`,
  maxItems: ({ limit }) => `must have at most ${plural(limit, 'item')}`,
  uniqueItems: () => 'must not name anything twice',
  minProperties: ({ limit }) => `must have at least ${plural(limit, 'field')}`,
  maxProperties: ({ limit }) => `must have at most ${plural(limit, 'field')}`,
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

function messageOf(error: ErrorObject): ValidationMessage {
  const extra = error.params['missingProperty'] ?? error.params['additionalProperty'];
  const pointer = extra === undefined ? error.instancePath : `${error.instancePath}/${String(extra)}`;
  const text = TEXTS[error.keyword]?.(error.params as Params) ?? error.message ?? 'does not fit';
  const unusable = error.params['pattern'] === USER_ID_PATTERN;
  return { field: fieldOf(pointer), text, keyword: error.keyword, unusable };
}

/**
 * The message to answer with, from Ajv's errors of one failed validation (first error only, not all). Where none of
 * several alternatives fits, it is that of the alternative whose type was met, else all their types.
 */
export function validationMessage(errors: readonly ErrorObject[]): ValidationMessage {
  const last = errors.at(-1);
  if (!last) return { field: '', text: 'does not fit', keyword: '', unusable: false };
  if (last.keyword !== 'anyOf' && last.keyword !== 'oneOf') return messageOf(last);
  const inner = errors.slice(0, -1);
  const types = inner.filter((error) => error.keyword === 'type' && error.instancePath === last.instancePath);
  const nearest = inner.find(
    (error) => !types.includes(error) && error.keyword !== 'anyOf' && error.keyword !== 'oneOf',
  );
  if (nearest) return messageOf(nearest);
  const type = types.flatMap((error) => error.params['type'] as string | string[]);
  if (type.length === 0) return { ...messageOf(last), text: 'fits none of the allowed forms' };
  return { ...messageOf(last), text: `must be ${type.map(noun).join(' or ')}` };
}
