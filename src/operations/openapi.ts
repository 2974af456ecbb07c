import type { TObject, TSchema } from 'typebox';
import type { Operation } from './operation.ts';

/** The version of the interface that the documents declare. */
export const INTERFACE_VERSION = '1.19.0';

const ERRORS: Record<number, string> = {
  400: 'Malformed, or does not fit the schema',
  401: 'The API key is missing or not valid',
  403: 'The API key does not allow this',
  404: 'Not found',
  413: 'The body is too large',
  415: 'The body is not declared as JSON',
  422: 'Well-formed, but cannot be used',
  429: 'Too many requests; try again after `Retry-After` seconds',
  500: 'Internal error',
  503: 'Not available at the moment; try again after `Retry-After` seconds',
};

const TITLES = { application: 'Laurel Application API', admin: 'Laurel Admin API' } as const;

const json = (schema: unknown) => ({ 'application/json': { schema } });

/** TypeBox keeps notes of its own on schemas; what is left as JSON is JSON Schema. */
const plain = (schema: TSchema): unknown => JSON.parse(JSON.stringify(schema));

function parameters(place: 'path' | 'query', schema: TObject): unknown[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    in: place,
    // A required parameter with a default is one that is always there for the handler, not for the client.
    required: required.has(name) && !('default' in property),
    schema: plain(property),
  }));
}

/** Every name in the path is a parameter, with or without a schema of its own. */
function pathParameters({ path, params }: Operation): unknown[] {
  const declared = params?.properties ?? {};
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: declared[name!] ? plain(declared[name!]!) : { type: 'string' },
  }));
}

const header = (name: string) => ({ $ref: `#/components/parameters/${name}` });

function responses(operation: Operation): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const [status, schema] of Object.entries(operation.responses))
    all[status] = { description: 'Done', ...(schema && { content: json(plain(schema)) }) };
  const open = operation.scope === 'public';
  for (const status of Object.keys(ERRORS).map(Number)) {
    if ((status === 413 || status === 415) && !operation.body) continue;
    if (open && status < 500) continue;
    all[status] = { $ref: `#/components/responses/${status}` };
  }
  return all;
}

function operationObject(operation: Operation): unknown {
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(operation.aliases.length > 0 && { description: `Also at ${operation.aliases.join(', ')}.` }),
    parameters: [
      ...pathParameters(operation),
      ...(operation.query ? parameters('query', operation.query) : []),
      ...(operation.scope === 'tenant' ? [header('TenantId')] : []),
      ...(operation.idempotent ? [header('IdempotencyKey')] : []),
    ],
    ...(operation.body && { requestBody: { required: true, content: json(plain(operation.body)) } }),
    responses: responses(operation),
    ...(operation.scope === 'public' && { security: [] }),
  };
}

/** The OpenAPI 3.1 document of one surface, made from the schemas that validate its requests. */
export function openapiDocument(surface: Operation['surface'], operations: readonly Operation[]): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) (paths[operation.path] ??= {})[operation.method] = operationObject(operation);
  return {
    openapi: '3.1.0',
    info: { title: TITLES[surface], version: INTERFACE_VERSION },
    servers: [{ url: '/' }],
    security: [{ ApiKeyAuth: [] }],
    paths,
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
      },
      responses: Object.fromEntries(
        Object.entries(ERRORS).map(([status, description]) => [
          status,
          { description, content: json({ $ref: '#/components/schemas/ErrorBody' }) },
        ]),
      ),
      schemas: {
        ErrorBody: { type: 'object', required: ['error'], properties: { error: { type: 'string' } } },
      },
    },
  };
}
