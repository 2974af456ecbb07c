import { Type, type Static } from 'typebox';

/** Schemas that many others are made of. */

export const Uuid = Type.String({ format: 'uuid' });

/** Keyword of our own: the most bytes that a string may have in UTF-8. */
export const MAX_BYTES = 'x-max-bytes';

/** A text of at most so many bytes in UTF-8; so it has no more characters either, which every reader of a schema knows. */
export const TextUpTo = (bytes: number, options: { pattern?: string } = {}) =>
  Type.String({ ...options, [MAX_BYTES]: bytes, maxLength: bytes });

/** A value of an attribute, of users, events and conditions. */
export const AttributeValue = TextUpTo(1_024);

/** `YYYY-MM-DD`. */
export const LocalDate = Type.String({ format: 'date' });

export const Nullable = <T extends Type.TSchema>(schema: T, options: Type.TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options);

/** An object whose fields are the keys of what is configured. */
export const byKey = <T extends Type.TSchema>(schema: T) =>
  Type.Unsafe<Record<string, Static<T>>>({ type: 'object', additionalProperties: schema });
