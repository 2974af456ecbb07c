import type { TObject, TSchema } from 'typebox';
import { AppError } from '../errors.ts';
import {
  allFaultsFinder,
  faultFinder,
  unknownBeside,
  unknownFieldsText,
  type ValidationMessage,
} from '../operations/validation.ts';
import { queryReader } from './parameters.ts';

/** Throws an `AppError` if the value is invalid. */
export type Check = (value: unknown) => void;

/** Whether a schema is an object whose only field is an array of items that the operation checks itself. */
function isBulkObject(schema: TSchema): boolean {
  const [only, ...others] = Object.values((schema as { properties?: Record<string, object> }).properties ?? {});
  return only !== undefined && others.length === 0 && 'maxItems' in only && !('items' in only);
}

/**
 * An invalid body is a 400 that names the field. A bulk body (an array of a limited number of items, or an object with
 * one) of the wrong shape is a 422; bulk operations report problems of single items themselves.
 * @param known the known fields, if unknown ones are refused (400). The error then names all faults: such a body, for
 *   example a configuration document, is written by a person.
 */
export function bodyCheck(schema: TSchema, known: TSchema | null = null): Check {
  if (known !== null) return strictCheck(schema, known);
  const faultOf = faultFinder(schema);
  const isArray = (schema as { type?: unknown }).type === 'array';
  const isObjectOfArray = isBulkObject(schema);
  return (value) => {
    const fault = faultOf(value);
    if (fault === null) return;
    const { field, unusable } = fault;
    const isBulk = isObjectOfArray || (isArray && field === '');
    throw new AppError(unusable || isBulk ? 'unprocessable' : 'invalid', textOf(fault), {
      hint: bodyHint(schema, value, fault),
    });
  };
}

function bodyHint(schema: TSchema, value: unknown, { field, keyword }: ValidationMessage): string | undefined {
  if (keyword === 'required') return unknownBeside(schema, value, field);
  if (field !== '' || typeof value !== 'object' || value === null) return undefined;
  const isArray = (schema as { type?: unknown }).type === 'array';
  if (isArray && !Array.isArray(value)) return 'Put the object into a list: [{…}].';
  if (!isArray && Array.isArray(value)) return 'Send the object itself, not in a list.';
  return undefined;
}

/** Names all unknown fields, then all other faults. */
function strictCheck(schema: TSchema, known: TSchema): Check {
  const faultsOf = allFaultsFinder(schema);
  return (value) => {
    const unknown = unknownFieldsText(known, value);
    const faults = faultsOf(value);
    if (unknown === null && faults.length === 0) return;
    const isUnusable = unknown === null && faults.every(({ unusable }) => unusable);
    const texts = [...(unknown === null ? [] : [unknown]), ...faults.map(textOf)];
    throw new AppError(isUnusable ? 'unprocessable' : 'invalid', [...new Set(texts)].join('; '));
  };
}

const textOf = ({ field, text }: ValidationMessage): string => `${field || 'The body'} ${text}`;

/** Path parameters: too long is 400, an impossible user ID 422; any other invalid value is 404. */
export function paramsCheck(schema: TObject): Check {
  const faultOf = faultFinder(schema);
  return (value) => {
    const fault = faultOf(value);
    if (fault === null) return;
    const { field, text, keyword, unusable } = fault;
    if (unusable) throw new AppError('unprocessable', `${field} ${text}`);
    const bounds = keyword === 'maxLength' || keyword === 'minLength';
    if (bounds) throw new AppError('invalid', `${field} ${text}`);
    throw new AppError('not_found', 'Not found', { hint: `In the path, ${field} ${text}.` });
  };
}

/**
 * Parses a raw query into the schema's types and adds defaults. An invalid query is a 422 that names the parameter, as is
 * an unknown parameter with `refusesUnknown`.
 */
export function queryParser(schema: TObject, options: { refusesUnknown: boolean }): (raw: string) => unknown {
  const faultOf = faultFinder(schema, { useDefaults: true });
  const read = queryReader(schema, options);
  return (raw) => {
    const query = read(raw);
    const fault = faultOf(query);
    if (fault === null) return query;
    throw new AppError('unprocessable', `${fault.field || 'The query'} ${fault.text}`);
  };
}
