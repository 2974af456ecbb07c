import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { NotificationType } from '../../src/domain/notifications/notification.ts';
import { ERRORS, type ErrorCode } from '../../src/errors.ts';
import type { Operation } from '../../src/operations/operation.ts';

/**
 * The wire contract: tables of facts in this folder against which the tests check every answer. `newer.json` has what a
 * newer version added and changed; its operations and schemas replace those of the same name.
 */

type Surface = Operation['surface'];

export interface ContractOperation {
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; schema?: Record<string, unknown>; $ref?: string }[];
  requestBody?: { content: { 'application/json': { schema: Record<string, unknown> } } };
  responses: Record<string, { content?: Record<string, unknown> }>;
}

interface Document {
  paths: Record<string, Record<string, ContractOperation>>;
  components: { schemas: Record<string, object> };
  webhooks?: Record<string, object>;
}

const load = (name: string): Document =>
  JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as Document;

const documents = { application: load('application'), admin: load('admin') };

const newer = load('newer');
for (const [name, schema] of Object.entries(newer.components.schemas)) {
  const { schemas } = documents[(schema as { 'x-surface': Surface })['x-surface']].components;
  schemas[name] = { $ref: `newer.json#/components/schemas/${name}` };
}
for (const [path, methods] of Object.entries(newer.paths)) {
  const [method] = Object.keys(methods).filter((one) => one !== 'parameters');
  const surface = (methods[method!] as unknown as { 'x-surface': Surface })['x-surface'];
  documents[surface].paths[path] = { ...documents[surface].paths[path], ...methods };
}

// Optimising what it generates takes two fifths of a compilation, and most schemas check few answers.
const ajv = new Ajv2020({ strict: false, allErrors: true, code: { optimize: false } });
formats.default(ajv);
for (const [name, document] of Object.entries({ ...documents, newer })) ajv.addSchema(document, `${name}.json`);

const compiled = new Map<string, ValidateFunction>();

const step = (name: string): string => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));

function validator(pointer: string): ValidateFunction {
  let validate = compiled.get(pointer);
  if (!validate) compiled.set(pointer, (validate = ajv.compile({ $ref: pointer })));
  return validate;
}

/** The operation as the contract declares it; undefined if only Laurel has it. */
export function contractOperation(surface: Surface, method: string, path: string): ContractOperation | undefined {
  return documents[surface].paths[path.replace(/^\/(v1|api)(?=\/)/, '')]?.[method.toLowerCase()];
}

/** The names of the webhook events. */
/** Types of events that Laurel has in addition. */
export const OWN_EVENTS: readonly NotificationType[] = [
  'points.spent',
  'points.refunded',
  'points.expiring',
  'points.expired',
  'reward.claimed',
  'reward.fulfilled',
  'reward.cancelled',
  'leaderboard.rewarded',
  'leaderboard.tier_changed',
  'user.merged',
];

export const contractEvents = (): string[] => Object.keys(documents.application.webhooks ?? {});

/** The contract's schema of a webhook payload. */
const payloadPointer = (type: string): string =>
  `application.json#/${['webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema'].map(step).join('/')}`;

/** Throws if a webhook payload violates the contract. */
export function checkPayload(payload: { type: string }): void {
  const validate = validator(payloadPointer(payload.type));
  if (!validate(payload))
    throw new Error(
      `The payload does not fit the contract: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(payload)}`,
    );
}

interface ContractSchema {
  $ref?: string;
  allOf?: ContractSchema[];
  oneOf?: ContractSchema[];
  properties?: Record<string, ContractSchema>;
  required?: string[];
  items?: ContractSchema;
}

/** The fields of a webhook payload by path, with whether they are required. */
export function payloadFields(type: string): [path: string, required: boolean][] {
  const webhook = documents.application.webhooks![type] as { post: ContractOperation };
  return fieldsIn(webhook.post.requestBody!.content['application/json'].schema as ContractSchema, '');
}

function fieldsIn(schema: ContractSchema, path: string): [string, boolean][] {
  const { $ref, allOf = [], oneOf = [], properties = {}, required = [], items } = schema;
  const name = $ref?.split('/').at(-1);
  const referred =
    name === undefined ? undefined : (newer.components.schemas[name] ?? documents.application.components.schemas[name]);
  const inside = [referred as ContractSchema | undefined, ...allOf, ...oneOf, items];
  return [
    ...Object.entries(properties).flatMap(([field, its]): [string, boolean][] => [
      [`${path}.${field}`, required.includes(field)],
      ...fieldsIn(its, `${path}.${field}`),
    ]),
    ...inside.flatMap((one) => (one === undefined ? [] : fieldsIn(one, path))),
  ];
}

/** Every operation of the contract: its method, and its path with our `/v1` prefix. */
export function contractOperations(surface: Surface): { method: string; path: string }[] {
  return Object.entries(documents[surface].paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== 'parameters')
      .map((method) => ({ method, path: `/v1${path}` })),
  );
}

/** Statuses that any operation may answer with an error, even if the contract does not list them for it. */
const ERROR_STATUSES = new Set([400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 431, 500, 503]);

export interface SeenAnswer {
  surface: Surface;
  method: string;
  /** The path as it is declared, e.g. `/v1/metrics/{key}/event`. */
  path: string;
  status: number;
  body: unknown;
}

/**
 * Throws if an answer violates the contract. A success status that the contract does not list (202 of a replay) must have
 * the body of a listed one; an error must be `{error, code, hint?}` with the status of its code. Operations outside the
 * contract are only checked for the latter.
 */
export function checkAnswer(answer: SeenAnswer): void {
  const { surface, method, path, status, body } = answer;
  const place = `${method.toUpperCase()} ${path} answered ${status}`;
  if (status >= 400) {
    if (!ERROR_STATUSES.has(status)) throw new Error(`${place}, which is no status of ours`);
    if (typeof (body as { error?: unknown } | null)?.error !== 'string')
      throw new Error(`${place} without {"error": text}: ${JSON.stringify(body)}`);
    const { code } = body as { code?: ErrorCode };
    if (ERRORS[code!]?.status !== status) throw new Error(`${place} with the code ${code}`);
  }
  const operation = contractOperation(surface, method, path);
  if (!operation) return;
  const listed = Object.keys(operation.responses);
  const like = listed.includes(String(status))
    ? String(status)
    : status < 300
      ? listed.find((code) => code.startsWith('2'))
      : undefined;
  if (like === undefined) return;
  const contractPath = path.replace(/^\/(v1|api)(?=\/)/, '');
  const pointer = [
    'paths',
    contractPath,
    method.toLowerCase(),
    'responses',
    like,
    'content',
    'application/json',
    'schema',
  ];
  const validate = validator(`${surface}.json#/${pointer.map(step).join('/')}`);
  if (!validate(body))
    throw new Error(
      `${place}, which does not fit the contract: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(body)}`,
    );
}

/** The maximum date range in days at the hosted product; the contract's tables do not state it. */
const MOST_DAYS = 400;

/**
 * Why a source that enforces every limit of the contract refuses a GET of the Application API; `null` if it accepts it.
 * Reasons: an unknown path or parameter, a parameter that is missing or violates its schema, a date range that is too long.
 */
export function refusalOfRead(url: string): { status: number; error: string } | null {
  const { pathname, searchParams } = new URL(url, 'http://source');
  const steps = pathname.replace(/^\/v1(?=\/)/, '').split('/');
  const fits = (path: string): boolean => {
    const declared = path.split('/');
    return declared.length === steps.length && declared.every((each, at) => each.startsWith('{') || each === steps[at]);
  };
  const path = Object.keys(documents.application.paths).find(fits);
  const operation = pathname.startsWith('/v1/') && path ? documents.application.paths[path]!['get'] : undefined;
  if (operation === undefined) return { status: 404, error: `Unknown path: ${pathname}` };
  const declared = (operation.parameters ?? []).filter((each) => each.in === 'query');
  for (const name of searchParams.keys())
    if (!declared.some((each) => each.name === name)) return { status: 422, error: `Unknown parameter: ${name}` };
  for (const { name, required = false, schema = {} } of declared) {
    const [text] = searchParams.getAll(name);
    if (text === undefined && required) return { status: 422, error: `${name} is required` };
    if (text === undefined || schema['type'] === 'array') continue;
    const value = schema['type'] === 'string' ? text : JSON.parse(text);
    if (!ajv.validate(schema, value)) return { status: 422, error: `${name} ${ajv.errorsText()}` };
  }
  const days = ['startDate', 'endDate'].map((name) => Date.parse(searchParams.get(name) ?? '') / 86_400_000);
  // NaN, for a read without dates, is neither.
  if (days[1]! < days[0]!) return { status: 422, error: 'startDate must not be after endDate' };
  if (days[1]! - days[0]! + 1 > MOST_DAYS)
    return { status: 422, error: `The date range must not exceed ${MOST_DAYS} days` };
  return null;
}
