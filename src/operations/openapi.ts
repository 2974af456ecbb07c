import { type TObject, type TSchema, Type } from 'typebox';
import { NOTIFICATION_EXAMPLES } from '../domain/notifications/examples.ts';
import { NOTIFICATION_PAYLOADS } from '../domain/notifications/payloads.ts';
import { WEBHOOK_EVENTS } from '../domain/notifications/webhook.ts';
import { errorCodes, type ErrorStatus } from '../errors.ts';
import { version } from '../version.ts';
import { describedParameter, describedSchema } from './descriptions/described.ts';
import { type Exchange, exchangeOf, furtherExchangesOf, plainSchema, requestPath } from './descriptions/examples.ts';
import { INTERFACE_VERSION, landingText } from './descriptions/landing.ts';
import { type DescribedOperation, nameSchemas, type Paths } from './descriptions/named-schemas.ts';
import { TAGS } from './descriptions/tags.ts';
import { WEBHOOK_TEXTS } from './descriptions/webhook-texts.ts';
import { existing, type Operation, operation } from './operation.ts';
import { jsonFile, type StaticFile } from './static-file.ts';

const TITLES = { application: 'Laurel Application API', admin: 'Laurel Admin API' } as const;

interface FurtherExamples {
  [title: string]: { description: string; value: unknown };
}

/** `example`: omitted if there is none; otherwise named, since viewers then show it unchanged. `further`: shown after it. */
const json = <S>(schema: S, example?: unknown, further: FurtherExamples = {}) => ({
  'application/json': {
    schema,
    ...(example !== undefined && { examples: { Example: { value: example }, ...further } }),
  },
});

/** Further answers of an operation with a status, each with its request. */
const furtherAnswers = ({ id, method, path }: Operation, status: number): FurtherExamples =>
  Object.fromEntries(
    furtherExchangesOf(id)
      .filter((exchange) => exchange.status === status)
      .map((exchange) => {
        const description = `${method.toUpperCase()} ${requestPath(path, exchange)}`;
        return [exchange.title, { description, value: exchange.answer }];
      }),
  );

/** A parameter's value in the operation's example, which takes precedence over an example by name. */
function exampleIn(sent: Exchange['query'], name: string, { type }: { type?: string }): { example?: unknown } {
  const value = sent?.[name];
  if (value === undefined) return {};
  return { example: type === 'array' ? String(value).split(',') : value };
}

function queryParameters({ id, path }: Operation, schema: TObject): unknown[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    in: 'query',
    // A required parameter with a default is always present for the handler, but not required from the client.
    required: required.has(name) && !('default' in property),
    ...describedParameter(plainSchema(property), { operation: id, path, name }),
    ...exampleIn(exchangeOf(id)?.query, name, property as { type?: string }),
  }));
}

/** Every name in the path is a parameter, with or without its own schema. */
function pathParameters({ id, path, params }: Operation): unknown[] {
  const declared = params?.properties ?? {};
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    ...describedParameter(declared[name!] ? plainSchema(declared[name!]!) : { type: 'string' }, {
      operation: id,
      path,
      name: name!,
    }),
    ...exampleIn(exchangeOf(id)?.params, name!, {}),
  }));
}

const header = (name: string) => ({ $ref: `#/components/parameters/${name}` });

function responses(operation: Operation): DescribedOperation['responses'] {
  const all: Record<string, object> = {};
  const { id, path } = operation;
  const exchange = exchangeOf(id);
  for (const [status, schema] of Object.entries(operation.responses)) {
    const example = exchange?.status === Number(status) ? exchange.answer : undefined;
    all[status] = {
      description: 'Done',
      ...(schema && {
        content: json(
          describedSchema(plainSchema(schema), { operation: id, path, names: ['answer'] }),
          example,
          furtherAnswers(operation, Number(status)),
        ),
      }),
    };
  }
  for (const status of refusalsOf(operation)) all[status] = { $ref: `#/components/responses/${status}` };
  return all;
}

/** A larger body is answered 413. */
const requestBody = ({ id, path, bodyBytes, isBodyOptional }: Operation, schema: TSchema) => ({
  required: !isBodyOptional,
  description:
    bodyBytes === null
      ? 'At most as many bytes as `BODY_LIMIT` allows.'
      : `At most ${bodyBytes.toLocaleString('en-US')} bytes.`,
  content: json(describedSchema(plainSchema(schema), { operation: id, path, names: ['body'] }), exchangeOf(id)?.body),
});

function describing({ description, aliases }: Operation): { description?: string } {
  const sentences = [description, aliases.length > 0 ? `Also at ${aliases.join(', ')}.` : ''].filter(Boolean);
  return sentences.length > 0 ? { description: sentences.join(' ') } : {};
}

/** Readers look for operations by subject, which is the first segment of the path. */
const tagOf = ({ path }: Operation): string => path.split('/')[2]!;

function tagsIn(...paths: Paths[]): { name: string; description: string | undefined }[] {
  const operations = paths.flatMap((methods) => Object.values(methods)).flatMap((each) => Object.values(each));
  return [...new Set(operations.flatMap(({ tags }) => tags))].map((name) => ({ name, description: TAGS[name] }));
}

function operationObject(operation: Operation) {
  return {
    operationId: operation.id,
    tags: [tagOf(operation)],
    summary: operation.summary,
    ...describing(operation),
    ...(operation.deprecated && { deprecated: true }),
    parameters: [
      ...pathParameters(operation),
      ...(operation.query ? queryParameters(operation, operation.query) : []),
      ...(operation.scope === 'tenant' ? [header('TenantId')] : []),
      ...(operation.idempotent ? [header('IdempotencyKey')] : []),
    ],
    ...(operation.body && { requestBody: requestBody(operation, operation.body) }),
    responses: responses(operation),
    ...(operation.scope === 'public' && { security: [] }),
  };
}

export type OperationObject = ReturnType<typeof operationObject>;

/** The operations as an OpenAPI document has them, by path and method, with all schemas in place: without references. */
export function openapiPaths(operations: readonly Operation[]): Paths<OperationObject> {
  const paths: Paths<OperationObject> = {};
  for (const operation of operations) (paths[operation.path] ??= {})[operation.method] = operationObject(operation);
  return paths;
}

/** The OpenAPI 3.1 document of a surface, derived from the schemas that validate its requests. */
export function openapiDocument(surface: Operation['surface'], operations: readonly Operation[]) {
  const paths = openapiPaths(operations);
  // Applications receive the webhooks; the Admin API configures where they go.
  const webhooks = surface === 'application' ? openapiWebhooks() : undefined;
  const schemas = nameSchemas(paths, webhooks ?? {});
  return {
    openapi: '3.1.0',
    info: {
      title: TITLES[surface],
      version: INTERFACE_VERSION,
      'x-laurel-version': version(),
      description: landingText(surface),
    },
    servers: [{ url: '/' }],
    tags: tagsIn(paths, webhooks ?? {}),
    security: [{ ApiKeyAuth: [] }],
    paths,
    ...(webhooks && { webhooks }),
    components: {
      securitySchemes: { ApiKeyAuth: { type: 'apiKey', in: 'header', name: 'X-API-KEY' } },
      parameters: {
        TenantId: {
          name: 'Tenant-ID',
          in: 'header',
          required: false,
          description: 'The ID that the client gave the tenant; required where there are several tenants.',
          schema: { type: 'string' },
        },
        IdempotencyKey: {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
          description: 'A repeated request with the same key changes nothing.',
          schema: { type: 'string', minLength: 1, maxLength: 255 },
        },
        ...(surface === 'application' && webhookHeaders()),
      },
      headers: Object.fromEntries(Object.entries(ERROR_HEADERS).map(([name, type]) => [name, { schema: { type } }])),
      responses: Object.fromEntries(
        Object.entries(REFUSALS).map(([status, { description, headers }]) => [
          status,
          {
            description,
            ...(headers.length > 0 && {
              headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
            }),
            content: json({ $ref: '#/components/schemas/ErrorBody' }),
          },
        ]),
      ),
      schemas: {
        ...schemas,
        ErrorBody: {
          type: 'object',
          required: ['error', 'code'],
          properties: {
            error: { type: 'string', description: 'What is wrong, for a person. The text may change.' },
            code: {
              type: 'string',
              description: `A stable identifier, to branch on. There may be more of them later than ${errorCodes.map((code) => `\`${code}\``).join(', ')}.`,
              examples: ['not_found'],
            },
            hint: { type: 'string', description: 'What may help, for a person, e.g. a similar key that exists.' },
            balance: { type: 'integer', description: 'With `insufficient_balance`: what the user can spend.' },
          },
        },
      },
    },
  };
}

/** The public document of this surface. `all` returns the surface's operations, including this one. */
export function adminOpenapiGet(all: () => readonly Operation[]): Operation {
  /** By the operations that exist in an installation. */
  const files = new Map<string, Promise<StaticFile>>();
  return operation('admin_openapi_get', 'GET /v1/openapi', {
    summary: 'Describes this API',
    scope: 'public',
    responses: { 200: Type.Object({ openapi: Type.String(), info: Type.Object({ version: Type.String() }) }) },
    file: (services) => {
      const operations = existing(all(), services);
      const ids = operations.map(({ id }) => id).join();
      const file = files.get(ids) ?? jsonFile(JSON.stringify(openapiDocument('admin', operations)));
      files.set(ids, file);
      return file;
    },
  });
}

/** The public document of this surface. `all` returns the surface's operations, including this one. */
export function openapiGet(all: () => readonly Operation[]): Operation {
  let file: Promise<StaticFile> | undefined;
  return operation('openapi_get', 'GET /v1/openapi', {
    summary: 'Describes this API',
    scope: 'public',
    responses: { 200: Type.Object({ openapi: Type.String(), info: Type.Object({ version: Type.String() }) }) },
    file: () => (file ??= jsonFile(JSON.stringify(openapiDocument('application', all())))),
  });
}

/** Headers of errors, and their JSON types. */
const ERROR_HEADERS = {
  Allow: 'string',
  'Retry-After': 'integer',
  'X-RateLimit-Limit': 'integer',
  'X-RateLimit-Remaining': 'integer',
  'X-RateLimit-Reset': 'integer',
  'X-Request-Id': 'string',
} as const;

interface Refusal {
  description: string;
  /** Headers that such an answer always has. */
  headers: readonly (keyof typeof ERROR_HEADERS)[];
  /** Whether an operation can have this answer. */
  of: (operation: Operation) => boolean;
}

const always = (): boolean => true;
const withBody = ({ body }: Operation): boolean => body !== null;
/** Whether it takes a key, or a secret instead. */
const withKey = ({ scope, signsIn, opensStream }: Operation): boolean => scope !== 'public' || signsIn || opensStream;

/** All errors and the operations that can answer with them, for the OpenAPI documents. */
const REFUSALS: Record<ErrorStatus, Refusal> = {
  400: { description: 'Malformed, or does not fit the schema', headers: [], of: always },
  401: { description: 'The API key is missing or invalid, or the session has ended', headers: [], of: withKey },
  403: { description: 'The API key does not allow this', headers: [], of: withKey },
  404: {
    description: 'Not found',
    headers: [],
    of: ({ scope, path }) => scope === 'tenant' || path.includes('{'),
  },
  405: { description: 'The path has no such method; `Allow` names those it has', headers: ['Allow'], of: always },
  409: {
    description: 'Not possible in the current state; the text says why',
    headers: [],
    of: ({ mayConflict }) => mayConflict,
  },
  413: { description: 'The body is too large', headers: [], of: withBody },
  415: { description: 'The body is not declared as JSON', headers: [], of: withBody },
  422: {
    description: 'Well-formed, but cannot be used',
    headers: [],
    // `Tenant-ID` is required if there are several tenants. The contract also lists it for a tenant by ID.
    of: ({ scope, path, query, body, refusesUnknownQuery }) =>
      scope === 'tenant' || path.includes('{') || query !== null || body !== null || refusesUnknownQuery,
  },
  429: {
    description: 'Over the limit of requests, where one is set; try again after `Retry-After` seconds',
    headers: ['Retry-After', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
    of: withKey,
  },
  431: { description: 'Request line and headers are too long', headers: [], of: always },
  500: {
    description: 'Internal error; the log knows more under `X-Request-Id`',
    headers: ['X-Request-Id'],
    of: always,
  },
  503: {
    description: 'Not available at the moment; try again after `Retry-After` seconds',
    headers: ['Retry-After'],
    of: withKey,
  },
};

/** The error statuses that an operation can answer with, ascending. */
export const refusalsOf = (operation: Operation): ErrorStatus[] =>
  (Object.keys(REFUSALS).map(Number) as ErrorStatus[]).filter((status) => REFUSALS[status].of(operation));

interface Header {
  name: string;
  required: boolean;
  description: string;
  schema: object;
  example: string;
}

const BODY_SIGNATURE = 'mGZP1Kxkd1R2gXqpU1pSh0C3Jt1b6Pz2cB1kz5mWc5M=';

const HEADERS: Readonly<Record<string, Header>> = {
  WebhookId: {
    name: 'webhook-id',
    required: true,
    description: 'ID of the message, the same on every try, so that receivers can ignore repetitions.',
    schema: { type: 'string', format: 'uuid' },
    example: '0190a5f2-7c3e-8b1a-9d3e-2f6b8c1d4e5f',
  },
  WebhookTimestamp: {
    name: 'webhook-timestamp',
    required: true,
    description: 'When this try began, in seconds since 1970. Receivers should refuse tries that are some minutes old.',
    schema: { type: 'string', pattern: '^\\d+$' },
    example: '1772443800',
  },
  WebhookSignature: {
    name: 'webhook-signature',
    required: true,
    description:
      'Signatures by Standard Webhooks 1.0, separated by spaces, each `v1,` and the Base64 of HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>` ' +
      'with the bytes that the secret’s Base64 stands for; after a rotation a second one with the previous secret for 24 hours.',
    schema: { type: 'string' },
    example: `v1,${BODY_SIGNATURE}`,
  },
  WebhookSequence: {
    name: 'webhook-sequence',
    required: true,
    description:
      'Increases with every message about a user to a webhook: a message with a smaller number than the last one is older.',
    schema: { type: 'string', pattern: '^\\d+$' },
    example: '4711',
  },
  LaurelSignature: {
    name: 'X-Laurel-Signature',
    required: true,
    description:
      'Base64 of HMAC-SHA256 of the body with the secret’s whole text. The webhook’s `header` gives it another name.',
    schema: { type: 'string' },
    example: BODY_SIGNATURE,
  },
  LaurelSignaturePrevious: {
    name: 'X-Laurel-Signature-Previous',
    required: false,
    description:
      'The same with the previous secret, for 24 hours after a rotation. Where the webhook has a `header`: that name and `-Previous`.',
    schema: { type: 'string' },
    example: BODY_SIGNATURE,
  },
};

const webhookHeaders = (): Record<string, object> =>
  Object.fromEntries(Object.entries(HEADERS).map(([name, header]) => [name, { ...header, in: 'header' }]));

/** The webhooks of an OpenAPI document, derived from the schemas of their payloads. */
function openapiWebhooks(): Paths {
  const parameters = Object.keys(HEADERS).map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return Object.fromEntries(
    WEBHOOK_EVENTS.map((type) => {
      const operationId = `webhooks_${type.replace('.', '_')}`;
      const schema = plainSchema(NOTIFICATION_PAYLOADS[type]);
      const content = {
        schema: describedSchema(schema, { operation: operationId, path: '', names: ['payload'] }),
        examples: { Example: { value: NOTIFICATION_EXAMPLES[type] } },
      };
      const post = {
        operationId,
        tags: ['webhooks'],
        ...WEBHOOK_TEXTS[type],
        parameters,
        requestBody: { required: true, content: { 'application/json': content } },
        responses: {
          200: {
            description: 'Received; any 2xx counts. Anything else, or no answer within 60 seconds, is tried again.',
          },
          410: { description: 'No longer wanted: the webhook is disabled.' },
        },
        security: [],
      };
      return [type, { post }];
    }),
  );
}
