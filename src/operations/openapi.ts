import type { TObject, TSchema } from 'typebox';
import { errorCodes } from '../errors.ts';
import { version } from '../version.ts';
import { describedParameter, describedSchema } from './descriptions/described.ts';
import { INTERFACE_VERSION, landingText } from './descriptions/landing.ts';
import { plainSchema } from './descriptions/examples.ts';
import { type Exchange, exchangeOf } from './examples/story.ts';
import { openapiWebhooks, webhookHeaders } from './openapi-webhooks.ts';
import type { Operation } from './operation.ts';
import { ERROR_HEADERS, REFUSALS, refusalsOf } from './refusals.ts';

const TITLES = { application: 'Laurel Application API', admin: 'Laurel Admin API' } as const;

/** `example`: omitted if there is none; otherwise named, since viewers then show it unchanged. */
const json = (schema: unknown, example?: unknown) => ({
  'application/json': { schema, ...(example !== undefined && { examples: { Example: { value: example } } }) },
});

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

function responses(operation: Operation): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  const { id, path } = operation;
  const exchange = exchangeOf(id);
  for (const [status, schema] of Object.entries(operation.responses)) {
    const example = exchange?.status === Number(status) ? exchange.answer : undefined;
    all[status] = {
      description: 'Done',
      ...(schema && {
        content: json(describedSchema(plainSchema(schema), { operation: id, path, names: ['answer'] }), example),
      }),
    };
  }
  for (const status of refusalsOf(operation)) all[status] = { $ref: `#/components/responses/${status}` };
  return all;
}

/** A larger body is answered 413. */
const requestBody = ({ id, path, bodyBytes, isBodyOptional }: Operation, schema: TSchema): unknown => ({
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

function operationObject(operation: Operation): unknown {
  return {
    operationId: operation.id,
    // Readers look for operations by subject, which is the first segment of the path.
    tags: [operation.path.split('/')[2]],
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

/** The OpenAPI 3.1 document of a surface, derived from the schemas that validate its requests. */
export function openapiDocument(surface: Operation['surface'], operations: readonly Operation[]): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) (paths[operation.path] ??= {})[operation.method] = operationObject(operation);
  return {
    openapi: '3.1.0',
    info: {
      title: TITLES[surface],
      version: INTERFACE_VERSION,
      'x-laurel-version': version(),
      description: landingText(surface),
    },
    servers: [{ url: '/' }],
    security: [{ ApiKeyAuth: [] }],
    paths,
    // Applications receive the webhooks; the Admin API configures where they go.
    ...(surface === 'application' && { webhooks: openapiWebhooks() }),
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
          },
        },
      },
    },
  };
}
