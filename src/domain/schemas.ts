import { Type, type Static } from 'typebox';

/** Schemas that many others are made of. */

export const Uuid = Type.String({ format: 'uuid' });

/** `YYYY-MM-DD`. */
export const LocalDate = Type.String({ format: 'date' });

export const Nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** An object whose fields are the keys of what is configured. */
export const byKey = <T extends Type.TSchema>(schema: T) =>
  Type.Unsafe<Record<string, Static<T>>>({ type: 'object', additionalProperties: schema });
