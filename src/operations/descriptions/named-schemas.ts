import type { Schema } from './examples.ts';
import { SCHEMA_NAMES } from './schema-names.ts';

interface Content {
  description?: string;
  content?: { 'application/json': { schema: Schema } };
}

/** An operation or webhook of an OpenAPI document. */
export interface DescribedOperation {
  operationId: string;
  tags: readonly string[];
  requestBody?: Content;
  responses: Readonly<Record<string, Content>>;
}

export type Paths<O extends DescribedOperation = DescribedOperation> = Record<string, Record<string, O>>;

/**
 * Names the schemas in the bodies of operations: replaces them by references, in place, and returns the schemas by name.
 * Names whose places are in none of the operations are left out.
 */
export function nameSchemas(...paths: Paths[]): Record<string, Schema> {
  const operations = paths.flatMap((methods) => Object.values(methods)).flatMap((each) => Object.values(each));
  const named = namedSchemas(new Map(operations.map((operation) => [operation.operationId, operation])));
  const numberOf = createNumbering();
  const namesByPlace = new Map<Schema, string>();
  const namesByNumber = new Map<number, string>();
  for (const [name, schema] of named) {
    namesByPlace.set(schema, name);
    const number = numberOf(schema);
    if (!namesByNumber.has(number)) namesByNumber.set(number, name);
  }
  const inside = (schema: Schema): Schema => withParts(schema, referring);
  const referring = (schema: Schema): Schema => {
    const name = namesByPlace.get(schema) ?? (schema.properties && namesByNumber.get(numberOf(schema)));
    if (name === undefined) return inside(schema);
    const { description } = schema;
    return { $ref: `#/components/schemas/${name}`, ...(description !== undefined && { description }) };
  };
  for (const { requestBody, responses } of operations)
    for (const { content } of [requestBody ?? {}, ...Object.values(responses)])
      if (content !== undefined) content['application/json'].schema = referring(content['application/json'].schema);
  return Object.fromEntries(named.map(([name, schema]) => [name, inside(schema)]));
}

/** The names that the operations have, with their schemas. Throws if an operation lacks the field of a place. */
function namedSchemas(operations: ReadonlyMap<string, DescribedOperation>): [name: string, schema: Schema][] {
  const schemaOf = (name: string): Schema | undefined =>
    [SCHEMA_NAMES[name]!]
      .flat()
      .map(schemaAt)
      .find((schema) => schema !== undefined);
  const schemaAt = (place: string): Schema | undefined => {
    const [start, ...fields] = place.split(' ') as [string, ...string[]];
    if (start in SCHEMA_NAMES) return fieldAt(schemaOf(start), fields, place);
    const operation = operations.get(start);
    if (operation === undefined) return undefined;
    const [body, ...others] = fields;
    const content = body === 'body' ? operation.requestBody : operation.responses[body!];
    return fieldAt(content?.content?.['application/json'].schema, others, place);
  };
  return Object.keys(SCHEMA_NAMES).flatMap((name): [string, Schema][] => {
    const schema = schemaOf(name);
    return schema === undefined ? [] : [[name, schema]];
  });
}

function fieldAt(schema: Schema | undefined, fields: readonly string[], place: string): Schema | undefined {
  let at = schema;
  for (const field of at === undefined ? [] : fields) {
    if (field === '[]') at = at!.items;
    else if (field === '{}') at = at!.additionalProperties as Schema | undefined;
    else if (field.startsWith('|')) at = at!.anyOf?.[Number(field.slice(1))];
    else at = at!.properties?.[field];
    if (at === undefined) throw new Error(`There is no ${field} in ${place}.`);
  }
  return at;
}

/** A function that numbers schemas: those that are equal, texts and examples aside, get the same number. */
function createNumbering(): (schema: Schema) => number {
  const numbers = new Map<string, number>();
  const known = new WeakMap<Schema, number>();
  const numberOf = (schema: Schema): number => {
    let number = known.get(schema);
    if (number === undefined) {
      const { description: _description, examples: _examples, ...rest } = schema;
      const text = JSON.stringify(withParts(rest, numberOf));
      number = numbers.get(text) ?? numbers.size;
      numbers.set(text, number);
      known.set(schema, number);
    }
    return number;
  };
  return numberOf;
}

type WithParts<T> = Omit<Schema, 'properties' | 'items' | 'anyOf' | 'additionalProperties'> & {
  properties?: Record<string, T>;
  items?: T;
  anyOf?: T[];
  additionalProperties?: T | boolean;
};

/** The schema with each schema directly inside it replaced. */
function withParts<T>(schema: Schema, replaced: (part: Schema) => T): WithParts<T> {
  const { properties, items, anyOf, additionalProperties, ...rest } = schema;
  // In their order, because the texts of equal schemas are compared.
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, replaced(part)])),
    }),
    ...(items && { items: replaced(items) }),
    ...(anyOf && { anyOf: anyOf.map(replaced) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'object' ? replaced(additionalProperties) : additionalProperties,
    }),
  };
}
