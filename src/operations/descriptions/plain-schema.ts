import type { Schema } from './examples.ts';

/** The type of an enumeration's values, which TypeBox leaves unsaid, though viewers and generators want it. */
function withType(schema: Schema): Schema {
  if (!Array.isArray(schema.enum) || schema.type !== undefined) return schema;
  const types = new Set(schema.enum.map((value) => (value === null ? 'null' : typeof value)));
  return types.size === 1 ? { type: [...types][0]!, ...schema } : schema;
}

/** TypeBox keeps notes of its own on schemas; what is left as JSON is JSON Schema, in which every enumeration has a type. */
export const plainSchema = (schema: object): Schema =>
  JSON.parse(JSON.stringify(schema), (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? withType(value as Schema) : value,
  ) as Schema;
