import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../package-root.ts';
import { addTo } from '../../grouped.ts';

export interface Schema {
  $ref?: string;
  type?: string;
  description?: string;
  examples?: unknown[];
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  patternProperties?: Record<string, Schema>;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minItems?: number;
}

/** Values that a field of this name may have; the first that fits its schema is its example. */
const BY_NAME: Readonly<Record<string, readonly unknown[]>> = {
  key: ['flashcards-flipped'],
  name: ['Flashcards flipped'],
  id: ['18'],
  userId: ['18'],
  userIds: ['18'],
  around: ['18'],
  userName: ['Ada'],
  cursor: ['4711', '0190a5f2-7c3e-7b1a-9d3e-2f6b8c1d4e5f'],
  email: ['ada@example.org'],
  header: ['X-Acme-Signature'],
  tz: ['Europe/Berlin'],
  customerId: ['acme'],
  tenantId: ['acme'],
  metricKey: ['flashcards-flipped'],
  metricName: ['Flashcards flipped'],
  achievementKey: ['card-shark'],
  pointsSystemKey: ['xp'],
  pointsSystemName: ['XP'],
  units: ['cards'],
  url: ['https://example.org/badge.png'],
  badgeUrl: ['https://example.org/badge.png'],
  multiplier: [1.5],
  value: [5, 'pro'],
  attributeValue: ['pro'],
  breakdownAttributeValue: ['de'],
  address: ['203.0.113.7'],
  userAttributes: ['plan:pro'],
  startTime: ['08:00'],
  endTime: ['20:00'],
  year: [2026, '2026'],
  openapi: ['3.1.0'],
  prefix: ['adm_5f2k'],
  search: ['ada'],
  controlShare: [0.1],
  signUpDate: ['2026-01-15'],
  appUrl: ['https://example.org'],
};

/** Whatever the name. */
const BY_FORMAT: Readonly<Record<string, string>> = {
  uuid: '0190a5f2-7c3e-7b1a-9d3e-2f6b8c1d4e5f',
  date: '2026-01-31',
  'date-time': '2026-01-31T09:30:00.000Z',
};
const BY_TYPE: readonly unknown[] = [10, 1, 0, 0.5, true, 'example', '08:00', 'a.b', null];

/** An example of a field: a value that fits its schema. Undefined for objects, whose fields have examples of their own. */
export function exampleOf(schema: Schema, name: string): unknown {
  if (schema.examples !== undefined) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined)
    return schema.anyOf.map((one) => exampleOf(one, name)).find((value) => value !== undefined && value !== null);
  if (schema.type === 'object' || schema.type === undefined) return undefined;
  if (schema.type === 'array') {
    const item = schema.items === undefined ? undefined : exampleOf(schema.items, name);
    return item === undefined ? undefined : [item];
  }
  const candidates = [
    ...(BY_NAME[name] ?? []),
    BY_FORMAT[schema.format ?? ''],
    schema.default,
    ...BY_TYPE,
    schema.minimum,
  ];
  return candidates.find((value) => value !== undefined && fits(schema, value));
}

function fits(schema: Schema, value: unknown): boolean {
  if (typeof value === 'string') {
    const { pattern = '', minLength = 0, maxLength = Infinity, format } = schema;
    if (schema.type !== 'string' || (format !== undefined && format in BY_FORMAT && BY_FORMAT[format] !== value))
      return false;
    return new RegExp(pattern, 'u').test(value) && value.length >= minLength && value.length <= maxLength;
  }
  if (typeof value === 'number') {
    const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = schema;
    const isType = schema.type === 'number' || (schema.type === 'integer' && Number.isInteger(value));
    return isType && value >= minimum && value <= maximum && value > exclusiveMinimum;
  }
  return schema.type === (value === null ? 'null' : typeof value);
}

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

const chapter = (name: string): { file: string; exchanges: readonly Exchange[] } => {
  const file = join(PACKAGE_ROOT, 'docs', 'recorded-examples', `${name}.json`);
  return { file, exchanges: JSON.parse(readFileSync(file, 'utf8')) as Exchange[] };
};

/** The chapters of the story in order, each with its file. JSON, because they are recorded. */
export const CHAPTERS = [
  'organisation',
  'catalog',
  'users',
  'reads',
  'corrections',
  'operations',
  'rewards',
  'deletions',
].map(chapter);

export const STORY: readonly Exchange[] = CHAPTERS.flatMap(({ exchanges }) => exchanges);

/** What takes weeks, or many users: exchanges with a Laurel of their own (`test/operations/examples-of-weeks.test.ts`). */
export const WEEKS = chapter('weeks');

const FIRST = new Map<string, Exchange>();
const FURTHER = new Map<string, TitledExchange[]>();
for (const exchange of [...STORY, ...WEEKS.exchanges]) {
  const { operation } = exchange;
  if (isTitled(exchange)) addTo(FURTHER, operation, exchange);
  else if (!FIRST.has(operation)) FIRST.set(operation, exchange);
}

/** The example of an operation: its first exchange. `undefined` only for operations outside Laurel's tables. */
export const exchangeOf = (operation: string): Exchange | undefined => FIRST.get(operation);

/** Examples of an operation that are shown after `exchangeOf`, which may be none. */
export const furtherExchangesOf = (operation: string): readonly TitledExchange[] => FURTHER.get(operation) ?? [];

type TitledExchange = Exchange & { title: string };
function isTitled(exchange: Exchange): exchange is TitledExchange {
  return exchange.title !== undefined;
}

/** The path and query of an exchange's request. `path`: that of its operation. */
export function requestPath(path: string, { params = {}, query = {} }: Pick<Exchange, 'params' | 'query'>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name]!));
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return search.size > 0 ? `${filled}?${search.toString()}` : filled;
}

/**
 * A request and its answer, as the OpenAPI documents show them. The exchanges of `STORY` form a story in order. They were
 * recorded from one Laurel, and a test sends them to another (`test/operations/examples.test.ts`).
 */
export interface Exchange {
  operation: string;
  /** Of a further example of the operation. */
  title?: string;
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  idempotencyKey?: string;
  body?: unknown;
  status: number;
  /** Lists and maps are shortened. Omitted if there is no body, or a stream. */
  answer?: unknown;
}
