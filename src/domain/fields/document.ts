import { Type, type TSchema } from 'typebox';
import { AttributeValue, Nullable } from '../schemas.ts';
import { TODAY, type ConfiguredCondition, type Field, type Fields } from './field.ts';
import { described, isNeeded, sentField } from './wire.ts';

const Condition = Type.Object({ key: Type.String(), value: AttributeValue });

const BOUND = /^(?:exclusive)?m(?:in|ax)imum$/i;

/** The rules check the bounds of numbers: their messages say which resource of the document is wrong. */
export function withoutBounds<T extends TSchema>(schema: T): T {
  const { anyOf } = schema as { anyOf?: TSchema[] };
  const kept = Object.entries(schema).filter(([name]) => !BOUND.test(name));
  return { ...Object.fromEntries(kept), ...(anyOf && { anyOf: anyOf.map(withoutBounds) }) } as unknown as T;
}

function schemaOf(field: Field): TSchema {
  const one = sentField(field);
  if (one.conditionsOn !== undefined) return described(Type.Unsafe<ConfiguredCondition[]>(Type.Array(Condition)), one);
  const schema = one.clearable ? Nullable(withoutBounds(one.schema)) : withoutBounds(one.schema);
  const hasDefault = one.default !== null && one.default !== undefined && one.default !== TODAY;
  return described(hasDefault ? ({ ...schema, default: one.default } as TSchema) : schema, one);
}

/** A field's names in the document: of an achievement its key, else its name, else (if not unique) its ID. */
export function documentNames(name: string, { refersTo }: Field): string[] {
  if (refersTo === undefined) return [name];
  if (!name.includes('Id'))
    return refersTo === 'achievement' ? ['Keys', 'Names', 'Ids'].map((by) => name + by) : [name];
  const named = refersTo === 'achievement' ? ['Key', 'Name', 'Id'] : ['Key'];
  return named.map((by) => name.replace('Id', by));
}

export const documentFields = (fields: Fields): Record<string, TSchema> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, one]): [string, TSchema][] => {
      if (one.refersTo === undefined) return [[name, isNeeded(one) ? schemaOf(one) : Type.Optional(schemaOf(one))]];
      const schema = Type.Optional(Array.isArray(one.default) ? Type.Array(Type.String()) : Type.String());
      return documentNames(name, one).map((its) => [its, schema]);
    }),
  );
