import type { TSchema } from 'typebox';

/** A written schema, which also contains what TypeBox and `bulk.ts` exclude from checks, such as the items of bulk calls. */
interface Written {
  type?: string | readonly string[];
  properties?: Record<string, Written>;
  required?: readonly string[];
  additionalProperties?: boolean | Written;
  items?: Written;
  anyOf?: readonly Written[];
  oneOf?: readonly Written[];
}

type Drop = (value: unknown) => void;

/** A field, combined from all alternatives that have it. */
interface Field {
  /** `null` means that it was not sent. */
  unset: boolean;
  drop: Drop | null;
}

/**
 * Creates a function that removes a request's optional `null` fields in place, because `null` means "not sent". Keeps a
 * field whose own schema allows `null`, and a required one, so that the check reports it. Cost: O(fields sent), so it
 * is called only for bodies that contain `null`.
 */
export const unsentDropper = (schema: TSchema): Drop =>
  dropperOf([JSON.parse(JSON.stringify(schema)) as Written]) ?? (() => undefined);

function dropperOf(schemas: readonly Written[]): Drop | null {
  if (schemas.length === 0) return null;
  const alternatives = schemas.flatMap(alternativesOf);
  const fields = fieldsOf(alternatives);
  const rest = alternatives.flatMap(({ additionalProperties: all }) => (typeof all === 'object' ? [all] : []));
  const others = rest.length === 0 ? null : { unset: !rest.some(takesNull), drop: dropperOf(rest) };
  const items = dropperOf(alternatives.flatMap((each) => each.items ?? []));
  const ofObject = fields.size === 0 && others === null ? null : objectDropper(fields, others);
  if (ofObject === null && items === null) return null;
  return (value) => {
    if (Array.isArray(value)) {
      if (items !== null) for (const item of value) items(item);
    } else if (typeof value === 'object' && value !== null) ofObject?.(value as Record<string, unknown>);
  };
}

const objectDropper =
  (fields: ReadonlyMap<string, Field>, others: Field | null) =>
  (value: Record<string, unknown>): void => {
    for (const name of Object.keys(value)) {
      const field = fields.get(name) ?? others;
      if (field === null) continue;
      if (value[name] !== null) field.drop?.(value[name]);
      else if (field.unset) delete value[name];
    }
  };

function fieldsOf(alternatives: readonly Written[]): Map<string, Field> {
  const names = new Set(alternatives.flatMap(({ properties = {} }) => Object.keys(properties)));
  return new Map(
    [...names].map((name) => {
      const knowing = alternatives.filter(({ properties }) => properties?.[name] !== undefined);
      const schemas = knowing.map(({ properties }) => properties![name]!);
      const optional = knowing.some(({ required = [] }) => !required.includes(name));
      return [name, { unset: optional && !schemas.some(takesNull), drop: dropperOf(schemas) }];
    }),
  );
}

const alternativesOf = (schema: Written): Written[] => [
  schema,
  ...(schema.anyOf ?? []).flatMap(alternativesOf),
  ...(schema.oneOf ?? []).flatMap(alternativesOf),
];

const takesNull = (schema: Written): boolean =>
  alternativesOf(schema).some(({ type }) => [type].flat().includes('null'));
