import type { ValidateFunction } from 'ajv/dist/2020.js';
import type { TObject, TSchema } from 'typebox';
import { AppError } from '../errors.ts';
import { makeAjv } from '../operations/ajv.ts';
import { validationMessage } from '../operations/validation-message.ts';
import { unknownFieldsText } from '../operations/unknown-fields.ts';
import { queryReader } from './query.ts';

/** Throws an `AppError` where the value does not fit. */
export type Check = (value: unknown) => void;

/** Whether a body is an object of nothing but an array of items that are left to the operation. */
function isBulkObject(schema: TSchema): boolean {
  const [only, ...others] = Object.values((schema as { properties?: Record<string, object> }).properties ?? {});
  return only !== undefined && others.length === 0 && 'maxItems' in only && !('items' in only);
}

/** Compiles an operation's schemas at start, never per request. The same schema is compiled once. */
export class Validation {
  private readonly bodies = makeAjv();
  private readonly queries = makeAjv({ useDefaults: true });

  /**
   * A body that does not fit is 400, which names the field. A body that is to be an array of so many items, or an object of one, and is
   * none is 422: bulk operations report what is wrong with an item themselves.
   * @param known where unknown fields are refused (400): those that there are
   */
  body(schema: TSchema, known: TSchema | null = null): Check {
    const validate = this.bodies.compile(schema);
    const isArray = (schema as { type?: unknown }).type === 'array';
    const isObjectOfArray = isBulkObject(schema);
    return (value) => {
      // First: a misspelt field is often the reason why another one is missing.
      const unknown = known === null ? null : unknownFieldsText(known, value);
      if (unknown !== null) throw new AppError('invalid', unknown);
      if (validate(value)) return;
      const { field, text, unusable } = validationMessage(validate.errors ?? []);
      throw new AppError(
        unusable || isObjectOfArray || (isArray && field === '') ? 'unprocessable' : 'invalid',
        `${field || 'The body'} ${text}`,
      );
    };
  }

  /** Of path parameters: over the bounds of length is 400, an ID that no user can have is 422; anything else cannot name a resource: 404. */
  params(schema: TObject): Check {
    const validate = this.bodies.compile(schema);
    return (value) => {
      if (validate(value)) return;
      const { field, text, keyword, unusable } = validationMessage(validate.errors ?? []);
      if (unusable) throw new AppError('unprocessable', `${field} ${text}`);
      const bounds = keyword === 'maxLength' || keyword === 'minLength';
      throw new AppError(bounds ? 'invalid' : 'not_found', bounds ? `${field} ${text}` : 'Not found');
    };
  }

  /** Reads the raw query into the schema's types, defaults filled in; one that does not fit is 422, which names the parameter. */
  query(schema: TObject): (raw: string) => unknown {
    const validate: ValidateFunction = this.queries.compile(schema);
    const read = queryReader(schema);
    return (raw) => {
      const query = read(raw);
      if (validate(query)) return query;
      const { field, text } = validationMessage(validate.errors ?? []);
      throw new AppError('unprocessable', `${field || 'The query'} ${text}`);
    };
  }
}
