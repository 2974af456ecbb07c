import type { TObject, TSchema } from 'typebox';
import { AppError } from '../errors.ts';
import { faultFinder, unknownFieldsText } from '../operations/validation.ts';
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
 * @param known the known fields, if unknown ones are refused (400)
 */
export function bodyCheck(schema: TSchema, known: TSchema | null = null): Check {
  const faultOf = faultFinder(schema);
  const isArray = (schema as { type?: unknown }).type === 'array';
  const isObjectOfArray = isBulkObject(schema);
  return (value) => {
    // Checked first, because a misspelt field often explains a missing one.
    const unknown = known === null ? null : unknownFieldsText(known, value);
    if (unknown !== null) throw new AppError('invalid', unknown);
    const fault = faultOf(value);
    if (fault === null) return;
    const { field, text, unusable } = fault;
    throw new AppError(
      unusable || isObjectOfArray || (isArray && field === '') ? 'unprocessable' : 'invalid',
      `${field || 'The body'} ${text}`,
    );
  };
}

/** Path parameters: too long is 400, an impossible user ID 422; any other invalid value is 404. */
export function paramsCheck(schema: TObject): Check {
  const faultOf = faultFinder(schema);
  return (value) => {
    const fault = faultOf(value);
    if (fault === null) return;
    const { field, text, keyword, unusable } = fault;
    if (unusable) throw new AppError('unprocessable', `${field} ${text}`);
    const bounds = keyword === 'maxLength' || keyword === 'minLength';
    throw new AppError(bounds ? 'invalid' : 'not_found', bounds ? `${field} ${text}` : 'Not found');
  };
}

/** Parses a raw query into the schema's types and adds defaults. An invalid query is a 422 that names the parameter. */
export function queryParser(schema: TObject): (raw: string) => unknown {
  const faultOf = faultFinder(schema, { useDefaults: true });
  const read = queryReader(schema);
  return (raw) => {
    const query = read(raw);
    const fault = faultOf(query);
    if (fault === null) return query;
    throw new AppError('unprocessable', `${fault.field || 'The query'} ${fault.text}`);
  };
}
