import { type Static, type TOptional, Type, type TSchema } from 'typebox';
import { type AttributeCondition, type Badge, Nullable } from '../schemas.ts';
import { applies, TODAY, type Field, type Fields } from './field.ts';

type Values = Record<string, unknown>;

export const described = (schema: TSchema, { description, example }: Field): TSchema => ({
  ...schema,
  description,
  ...(example !== undefined && { examples: [example] }),
});

/** The field as requests and the document have it: with its aliases, if it has any. */
export function sentField(one: Field): Field {
  if (one.aliases === undefined) return one;
  const { enum: values } = one.schema as unknown as { enum: string[] };
  const texts = Object.entries(one.aliases).map(
    ([alias, { value, times, of }]) => `\`${alias}\` is stored as \`${value}\` with ${times} times the \`${of}\`.`,
  );
  return {
    ...one,
    schema: Type.Enum([...values, ...Object.keys(one.aliases)]),
    description: [one.description, ...texts].join(' '),
  };
}

function sentSchema(field: Field): TSchema {
  const one = sentField(field);
  return described(one.clearable ? Nullable(one.schema) : one.schema, one);
}

/** Whether a request that creates the resource must have the field, regardless of its other fields. */
export const isNeeded = ({ required, when }: Field): boolean => required === true && when === undefined;

/** Maps each field to its schema; fields without one are left out. */
export const schemasOf = (fields: Fields, schemaOf: (field: Field, name: string) => TSchema | null) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, one]): [string, TSchema][] => {
      const schema = schemaOf(one, name);
      return schema === null ? [] : [[name, schema]];
    }),
  );

export const createdFields = (fields: Fields): Record<string, TSchema> =>
  schemasOf(fields, (one) => {
    if (one.onlyChanged) return null;
    return isNeeded(one) ? sentSchema(one) : Type.Optional(sentSchema(one));
  });

export const changedFields = (fields: Fields): Record<string, TSchema> =>
  schemasOf(fields, (one) => (one.fixed ? null : Type.Optional(sentSchema(one))));

export const answeredFields = (fields: Fields): Record<string, TSchema> =>
  schemasOf(fields, (one) => {
    const schema = described(isShownAsNull(one) ? Nullable(one.schema) : one.schema, one);
    const isAlwaysShown = isShownAsNull(one) || !canBeUnset(one) || one.ifUnset === 'empty';
    return isAlwaysShown && one.when === undefined ? schema : Type.Optional(schema);
  });

const canBeUnset = (one: Field): boolean =>
  one.default === null || one.ifUnset === 'omitted' || (one.clearable === true && !Array.isArray(one.default));
const isShownAsNull = (one: Field): boolean => canBeUnset(one) && one.clearable === true && one.ifUnset === undefined;

type Additions<D extends Fields> = {
  [N in keyof D as D[N] extends { addition: true } ? N : never]: D[N] extends Field ? TOptional<D[N]['schema']> : never;
};

/** Schemas of Laurel's additions to a resource, for answers that show them beside fields of their own. */
export const additionSchemas = <D extends Fields>(fields: D): Additions<D> =>
  schemasOf(fields, (one) => (one.addition ? Type.Optional(described(one.schema, one)) : null)) as Additions<D>;

/** The additions that a resource has. */
export const additionsOf = <D extends Fields>(
  fields: D,
  resource: object,
): { [N in keyof Additions<D>]?: Static<Additions<D>[N]> } =>
  answerFrom(Object.fromEntries(Object.entries(fields).filter(([, { addition }]) => addition)), resource) as {
    [N in keyof Additions<D>]?: Static<Additions<D>[N]>;
  };

/** The entries of declared fields, made once: a document may have thousands of items with the same. */
export function entriesOf(fields: Fields): readonly (readonly [name: string, one: Field])[] {
  let entries = entriesByFields.get(fields);
  if (entries === undefined) entriesByFields.set(fields, (entries = Object.entries(fields)));
  return entries;
}

const entriesByFields = new WeakMap<Fields, readonly (readonly [string, Field])[]>();

export const storedName = (name: string, { stored }: Field): string => stored ?? name;

const lowerCase = (id: string): string => id.toLowerCase();

/** The stored form of a value of a request. */
function toStored(one: Field, value: unknown): unknown {
  if (value === null) return Array.isArray(one.default) ? one.default : null;
  if (one.normalise !== undefined) return one.normalise(value as never);
  if (one.stored === 'badgeUrl') return (value as Badge).url;
  if (one.conditionsOn !== undefined)
    return (value as AttributeCondition[]).map(({ attributeId, attributeValue }) => ({
      attributeId: lowerCase(attributeId),
      attributeValue,
    }));
  if (one.refersTo === undefined) return value;
  return Array.isArray(value) ? value.map(lowerCase) : lowerCase(value as string);
}

/** `{ runUnit: 'week', runInterval: 2 }` becomes `{ runUnit: 'day', runInterval: 14 }`. */
function withoutAliases(fields: Fields, item: Values): Values {
  let all = item;
  for (const [name, { aliases }] of entriesOf(fields)) {
    if (aliases === undefined) continue;
    const value = String(item[name]);
    if (!Object.hasOwn(aliases, value)) continue;
    const { value: stored, times, of } = aliases[value]!;
    all = { ...all, [name]: stored, [of]: times * ((item[of] as number | undefined) ?? 1) };
  }
  return all;
}

/** The stored form of the fields that an item of a request or of the document has. */
export function storedFrom(fields: Fields, item: object): Values {
  const sent = withoutAliases(fields, item as Values);
  const stored: Values = {};
  for (const [name, one] of entriesOf(fields)) {
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined;
    if (value !== undefined) stored[storedName(name, one)] = toStored(one, value);
  }
  return stored;
}

/** The stored form of a new resource: given fields, and defaults. `today`: `YYYY-MM-DD`. */
export function withDefaults(fields: Fields, given: object, today: string): Values {
  const all: Values = { ...given };
  for (const [name, one] of entriesOf(fields)) {
    const at = storedName(name, one);
    if (!Object.hasOwn(all, at)) all[at] = one.default === TODAY ? today : (one.default ?? null);
    if (one.defaultWhen !== undefined && applies(one.when, all)) all[at] ??= one.defaultWhen;
  }
  return all;
}

/** The stored form of a changed resource. Fields that no longer apply lose their values unless the request sets them. */
export function withChanges(fields: Fields, current: object, sent: object): Values {
  const all: Values = { ...current, ...sent };
  for (const [name, one] of Object.entries(fields)) {
    const at = storedName(name, one);
    if (one.when === undefined || Object.hasOwn(sent, at)) continue;
    if (!applies(one.when, all)) all[at] = one.default ?? null;
    else if (one.defaultWhen !== undefined) all[at] ??= one.defaultWhen;
  }
  return all;
}

export function answerFrom(fields: Fields, resource: object): Values {
  const answer: Values = {};
  for (const [name, one] of Object.entries(fields)) {
    const value = (resource as Values)[storedName(name, one)] ?? null;
    if (!applies(one.when, resource)) continue;
    const isUnset = value === null || (one.ifUnset === 'omitted' && Array.isArray(value) && value.length === 0);
    if (!isUnset) answer[name] = one.stored === 'badgeUrl' ? { url: value } : value;
    else if (one.ifUnset === 'empty') answer[name] = '';
    else if (isShownAsNull(one)) answer[name] = null;
  }
  return answer;
}

/** Fields of an answer as keys see them that may only read. */
export function forReaders(fields: Fields, answer: object): Values {
  const shown: Values = { ...answer };
  for (const [name, { forReaders: convert }] of Object.entries(fields))
    if (convert !== undefined && name in shown) shown[name] = convert(shown[name] as never);
  return shown;
}
