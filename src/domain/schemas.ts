import { Type, type Static } from 'typebox';

/** Schemas that many others use. */

export const Uuid = Type.String({ format: 'uuid' });

/** Keyword of our own: the longest string in UTF-8 bytes. */
export const MAX_BYTES = 'x-max-bytes';

/** Text of at most `bytes` UTF-8 bytes. `maxLength` states the same bound in characters for readers of the schema. */
export const TextUpTo = (bytes: number, options: { pattern?: string } = {}) =>
  Type.String({ ...options, [MAX_BYTES]: bytes, maxLength: bytes });

/** A value of a user or event attribute, or of a condition. */
export const AttributeValue = TextUpTo(1_024);

export const LocalDate = Type.String({ format: 'date' });

export const Nullable = <T extends Type.TSchema>(schema: T, options: Type.TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options);

/** An object whose fields are keys of configured resources. */
export const byKey = <T extends Type.TSchema>(schema: T) =>
  Type.Unsafe<Record<string, Static<T>>>({ type: 'object', additionalProperties: schema });
