import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { request as sendRequest } from 'undici';
import { groupedBy } from '../../src/grouped.ts';
import { openapiPaths } from '../../src/operations/openapi.ts';
import type { Operation } from '../../src/operations/operation.ts';
import { checkAnswer } from '../contract/contract.ts';

export interface SeenResponse {
  status: number;
  headers: Headers;
  /** Parsed JSON; null without a body. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any shape
  body: any;
}

export interface SentRequest {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent unchanged, instead of `body`. */
  rawBody?: string | Uint8Array;
  headers?: Record<string, string>;
  /** Instead of the client's key; null: none. */
  key?: string | null;
  tenantId?: string;
}

// Optimising what it generates takes two fifths of a compilation, and most schemas check few answers.
const ajv = new Ajv2020({ strict: false, allErrors: true, code: { optimize: false } });
formats.default(ajv);
const validators = new WeakMap<TSchema, ValidateFunction>();

function fits(schema: TSchema, body: unknown): void {
  let validate = validators.get(schema);
  if (!validate) validators.set(schema, (validate = ajv.compile(schema)));
  if (!validate(body))
    throw new Error(
      `The answer does not fit our own schema: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(body)}`,
    );
}

/** A path of an operation, or an alias, in steps. */
interface Place {
  steps: readonly string[];
  operation: Operation;
}

const places = new WeakMap<readonly Operation[], Map<number, Place[]>>();

/** The places of operations, by their number of steps. */
function placesOf(operations: readonly Operation[]): Map<number, Place[]> {
  let found = places.get(operations);
  if (!found) {
    const all = operations.flatMap((operation) =>
      [operation.path, ...operation.aliases].map((path) => ({ steps: path.split('/'), operation })),
    );
    places.set(operations, (found = groupedBy(all, ({ steps }) => steps.length)));
  }
  return found;
}

/** The operations that a path may mean, with any method. */
function operationsAt(operations: readonly Operation[], path: string): Operation[] {
  const given = path.split('/');
  return (placesOf(operations).get(given.length) ?? [])
    .filter(({ steps }) => steps.every((step, at) => (step.startsWith('{') ? given[at] !== '' : step === given[at])))
    .map(({ operation }) => operation);
}

interface Described {
  responses: object;
}

const descriptions = new WeakMap<Operation, Described>();

/** An operation in the OpenAPI document. */
function descriptionOf(operation: Operation): Described {
  let found = descriptions.get(operation);
  if (!found) {
    const paths = openapiPaths([operation]) as Record<string, Record<string, Described>>;
    descriptions.set(operation, (found = paths[operation.path]![operation.method]!));
  }
  return found;
}

/** A client of one surface. Checks every answer against our schemas, and the contract if it has the operation. */
export class TestClient {
  private readonly baseUrl: string;
  private readonly surface: Operation['surface'];
  private readonly operations: readonly Operation[];
  private readonly key: string | null;

  constructor(options: {
    baseUrl: string;
    surface: Operation['surface'];
    operations: readonly Operation[];
    key?: string | null;
  }) {
    this.baseUrl = options.baseUrl;
    this.surface = options.surface;
    this.operations = options.operations;
    this.key = options.key ?? null;
  }

  get = (path: string, request: SentRequest = {}): Promise<SeenResponse> => this.send('GET', path, request);
  post = (path: string, body?: unknown, request: SentRequest = {}): Promise<SeenResponse> =>
    this.send('POST', path, { body, ...request });
  put = (path: string, body?: unknown, request: SentRequest = {}): Promise<SeenResponse> =>
    this.send('PUT', path, { body, ...request });
  patch = (path: string, body?: unknown, request: SentRequest = {}): Promise<SeenResponse> =>
    this.send('PATCH', path, { body, ...request });
  delete = (path: string, request: SentRequest = {}): Promise<SeenResponse> => this.send('DELETE', path, request);

  /** Sends a request. `path` begins with `/v1` or `/api` and may have a query. Throws if the answer breaks a promise. */
  async send(method: string, path: string, request: SentRequest = {}): Promise<SeenResponse> {
    const key = request.key === undefined ? this.key : request.key;
    const body = request.rawBody ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    // `fetch` takes several times as much CPU.
    const response = await sendRequest(this.baseUrl + path, {
      method,
      headers: {
        ...(key !== null && { 'X-API-KEY': key }),
        ...(request.tenantId !== undefined && { 'Tenant-ID': request.tenantId }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...request.headers,
      },
      body: body ?? null,
    });
    const text = await response.body.text();
    const seen = {
      status: response.statusCode,
      headers: headersOf(response.headers),
      body: text === '' ? null : (JSON.parse(text) as unknown),
    };
    if (text !== '' || method === 'HEAD') this.check(method, path.split('?')[0]!, seen);
    return seen;
  }

  /** Throws if an answer (`path` without its query) violates our schemas, our document or the contract. */
  check(method: string, path: string, { status, body }: { status: number; body: unknown }): void {
    const operation = this.find(method === 'HEAD' ? 'GET' : method, path);
    if (method !== 'HEAD') checkAnswer({ surface: this.surface, method, path: operation?.path ?? path, status, body });
    const described = operation === undefined ? this.describedMethods(path) : [descriptionOf(operation)];
    for (const { responses } of described) {
      if (!(status in responses))
        throw new Error(`The document does not say that ${method} ${path} may answer ${status}`);
    }
    const schema = operation?.responses[status];
    if (schema && body !== null) fits(schema, body);
  }

  /** The description at a path for a method that it does not have. */
  private describedMethods(path: string): { responses: object }[] {
    const [at] = operationsAt(this.operations, path);
    return this.operations.filter((operation) => operation.path === at?.path).map(descriptionOf);
  }

  /** The operation of a path: one without a parameter precedes one with. */
  private find(method: string, path: string): Operation | undefined {
    const found = operationsAt(this.operations, path).filter((operation) => operation.method === method.toLowerCase());
    return found.find((operation) => operation.path === path) ?? found[0];
  }
}

function headersOf(received: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(received))
    for (const value of [values].flat()) headers.append(name, value);
  return headers;
}

/** The body of an answer. Throws if the request was refused. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any shape
export async function ok(sent: Promise<{ status: number; body: unknown }>): Promise<any> {
  const { status, body } = await sent;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}
