import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { WEBHOOK_EVENTS } from '../../src/domain/notifications/webhook.ts';
import { makeAjv } from '../../src/operations/validation.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { adminOpenapiGet, openapiDocument, openapiPaths } from '../../src/operations/openapi.ts';
import { operation, type Operation } from '../../src/operations/operation.ts';
import type { Schema } from '../../src/operations/descriptions/examples.ts';
import { SCHEMA_NAMES } from '../../src/operations/descriptions/schema-names.ts';
import { TAGS } from '../../src/operations/descriptions/tags.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { version } from '../../src/version.ts';
import { resolved } from './resolved.ts';
import { startServer } from '../http/server-fixture.ts';

const read = (path: string): string => readFileSync(join(PACKAGE_ROOT, path), 'utf8');

// oxlint-disable-next-line typescript/no-explicit-any -- a document is looked into
const documentOf = (surface: Operation['surface'], operations: readonly Operation[]): any =>
  resolved(openapiDocument(surface, operations));
const surfaces = { application: applicationOperations, admin: adminOperations };

const example = operation('things_event', 'POST /v1/things/{key}/event/{day}', {
  aliases: ['/api/things'],
  summary: 'Example',
  idempotent: true,
  params: Type.Object({ key: Type.String({ maxLength: 20 }) }),
  query: Type.Object({
    limit: Type.Integer({ default: 10 }),
    ids: Type.Array(Type.String({ format: 'uuid' })),
    q: Type.Optional(Type.String()),
  }),
  body: Type.Object({
    value: Type.Number({ maximum: 5 }),
    note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
  responses: { 201: Type.Object({ id: Type.String() }) },
  handle: async () => ({ status: 201, body: { id: 'x' } }),
});

/** Without descriptions and examples of parameters and fields. */
// oxlint-disable-next-line typescript/no-explicit-any -- a document is looked into
const withoutTexts = (document: object): any =>
  JSON.parse(
    JSON.stringify(document, (name, value) =>
      // A field may be called so.
      /^examples?$/.test(name) || (name === 'description' && typeof value === 'string') ? undefined : value,
    ),
  );

test('an operation is described from its schemas', () => {
  const described = withoutTexts(documentOf('application', [example])).paths['/v1/things/{key}/event/{day}'].post;
  expect(described.operationId).toBe('things_event');
  expect(described.parameters).toEqual([
    { name: 'key', in: 'path', required: true, schema: { type: 'string', maxLength: 20 } },
    { name: 'day', in: 'path', required: true, schema: { type: 'string' } },
    { name: 'limit', in: 'query', required: false, schema: { type: 'integer', default: 10 } },
    { name: 'ids', in: 'query', required: true, schema: { type: 'array', items: { type: 'string', format: 'uuid' } } },
    { name: 'q', in: 'query', required: false, schema: { type: 'string' } },
    { $ref: '#/components/parameters/TenantId' },
    { $ref: '#/components/parameters/IdempotencyKey' },
  ]);
  expect(described.requestBody.content['application/json'].schema).toEqual({
    type: 'object',
    required: ['value'],
    properties: { value: { type: 'number', maximum: 5 }, note: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
  });
  expect(Object.keys(described.responses)).toEqual([
    '201',
    '400',
    '401',
    '403',
    '404',
    '405',
    '413',
    '415',
    '422',
    '429',
    '431',
    '500',
    '503',
  ]);
});

/** Every field in a schema, with its path. */
function fieldsIn(schema: Schema, path: string): [path: string, field: Schema][] {
  const inside = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? [])];
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, Schema][] => [
      [`${path}.${name}`, field],
      ...fieldsIn(field, `${path}.${name}`),
    ]),
    ...inside.flatMap((one) => (typeof one === 'object' ? fieldsIn(one, path) : [])),
  ];
}

interface DescribedOperation {
  operationId: string;
  summary: string;
  parameters: { name?: string; description?: string; example?: unknown; schema: Schema }[];
  requestBody?: Content;
  responses: Record<string, Content>;
}
interface DescribedWebhook {
  operationId: string;
  description: string;
  parameters: { $ref: string }[];
  requestBody: { content: { 'application/json': { schema: object; examples: { Example: { value: unknown } } } } };
}
interface Content {
  content?: { 'application/json': { schema: Schema & { $ref?: string } } };
}

test.each([
  ['application', applicationOperations],
  ['admin', adminOperations],
] as const)(
  'every operation, parameter and field of the %s surface is described, with an example that fits',
  (surface, operations) => {
    const ajv = makeAjv();
    const wrong: string[] = [];
    const check = (
      path: string,
      { description, examples }: { description?: unknown; examples: unknown[] },
      schema: object,
    ) => {
      if (typeof description !== 'string' || description.length < 3) wrong.push(`${path}: no description`);
      // Objects, and lists of them, have fields with their own examples; a field that may hold anything has none.
      const isLeaf =
        /"(type|enum|const)":/.test(JSON.stringify(schema)) &&
        !/"type":"object"|"items":\{\}/.test(JSON.stringify(schema));
      if (isLeaf && examples.length === 0) wrong.push(`${path}: no example`);
      for (const value of examples)
        if (!ajv.validate(schema, value)) wrong.push(`${path}: ${JSON.stringify(value)} does not fit`);
    };
    type Described = Record<string, Record<string, DescribedOperation>>;
    const { paths, webhooks = {} } = documentOf(surface, operations) as { paths: Described; webhooks?: Described };
    const all = [...Object.values(paths), ...Object.values(webhooks)];
    for (const operation of all.flatMap((methods) => Object.values(methods))) {
      const { operationId: id, summary, parameters, requestBody, responses } = operation;
      if (!summary) wrong.push(`${id}: no summary`);
      for (const { name, description, example, schema } of parameters)
        if (name !== undefined)
          check(`${id}?${name}`, { description, examples: example === undefined ? [] : [example] }, schema);
      for (const { content } of [requestBody ?? {}, ...Object.values(responses)])
        for (const [path, field] of fieldsIn(content?.['application/json'].schema ?? {}, id))
          check(path, { description: field.description, examples: field.examples ?? [] }, field);
    }
    expect(wrong).toEqual([]);
  },
);

describe('named schemas', () => {
  const documents = Object.entries(surfaces).map(
    ([surface, operations]) => [surface, openapiDocument(surface as Operation['surface'], operations)] as const,
  );

  test.each(documents)(
    '%s: the references stand for exactly what requests and answers are checked by',
    (surface, document) => {
      const { paths } = withoutTexts(resolved(document));
      expect(paths).toEqual(withoutTexts(openapiPaths(surfaces[surface as Operation['surface']])));
    },
  );

  test.each(documents)(
    '%s: every body and answer is a named schema or a list of one',
    (_surface, { paths, webhooks = {} }) => {
      const unnamed: string[] = [];
      for (const { operationId, requestBody, responses } of [paths, webhooks].flatMap((all) =>
        Object.values<Record<string, DescribedOperation>>(JSON.parse(JSON.stringify(all))).flatMap((methods) =>
          Object.values(methods),
        ),
      ))
        for (const [body, described] of Object.entries({ body: requestBody ?? {}, ...responses })) {
          const schema = described.content?.['application/json'].schema;
          if (schema !== undefined && (schema.items ?? schema).$ref === undefined)
            unnamed.push(`${operationId} ${body}`);
        }
      expect(unnamed).toEqual([]);
    },
  );

  test('every name is used, and means the same in both documents', () => {
    const found = documents.map(([, document]) => {
      const text = JSON.stringify(document);
      const { schemas } = withoutTexts(resolved(document)).components as { schemas: Record<string, unknown> };
      const used = Object.keys(schemas).filter((name) => text.includes(`"#/components/schemas/${name}"`));
      expect(used).toEqual(Object.keys(schemas));
      return schemas;
    });
    const [application, admin] = found as [Record<string, unknown>, Record<string, unknown>];
    const shared = Object.keys(application).filter((name) => name in admin);
    expect(shared.length).toBeGreaterThan(10);
    for (const name of shared) expect([name, admin[name]]).toEqual([name, application[name]]);
    const all = { ...application, ...admin };
    expect(Object.keys(SCHEMA_NAMES).filter((name) => !(name in all))).toEqual([]);
  });

  test.each(documents)('%s: every tag of an operation is described', (_surface, { tags }) => {
    expect(tags.filter(({ description }) => description === undefined)).toEqual([]);
  });

  test('every description of a tag is used', () => {
    const used = new Set(documents.flatMap(([, { tags }]) => tags.map(({ name }) => name)));
    expect(Object.keys(TAGS).filter((name) => !used.has(name))).toEqual([]);
  });
});

test.each([
  // A parameter is about what its path names before it.
  ['/v1/users/{id}/points/{key}', 'id', 'ID of the user.'],
  ['/v1/users/{id}/points/{key}', 'key', 'Key of the points system.'],
  ['/v1/webhooks/{id}/deliveries', 'id', 'ID of the webhook.'],
  ['/v1/webhooks/{id}/deliveries', 'limit', 'Maximum number of messages in the answer.'],
  ['/v1/audit-log', 'userId', 'Only entries about this user.'],
  ['/v1/leaderboards/{key}', 'userId', 'The page shows the places around this user; `offset` then counts from there.'],
])('the parameter of %s: %s', (path, name, text) => {
  const { paths } = documentOf('admin', [...applicationOperations, ...adminOperations]);
  const { parameters } = paths[path].get;
  expect(parameters.find((one: { name: string }) => one.name === name).description).toBe(text);
});

test('further examples of an answer have their request, and fit', () => {
  const { get } = documentOf('application', applicationOperations).paths['/v1/leaderboards/{key}'];
  const { examples } = get.responses[200].content['application/json'];
  expect(Object.keys(examples)).toEqual(['Example', 'With secondary scores', 'A final run with rewards']);
  const { description, value } = examples['A final run with rewards'];
  expect(description).toBe('GET /v1/leaderboards/weekly-cards?run=2026-02-23');
  expect(value.rankings[0].rewards).toEqual({ points: { xp: 500 }, achievements: ['podium'] });
  const ajv = makeAjv();
  const [answers] = applicationOperations
    .filter(({ id }) => id === 'leaderboards_get')
    .map(({ responses }) => responses);
  for (const one of Object.values<{ value: unknown }>(examples))
    expect([ajv.validate(answers![200]!, one.value), ajv.errorsText()]).toEqual([true, 'No errors']);
});

test('a field is about the innermost thing around it, and the same name means something else elsewhere', () => {
  const { paths } = documentOf('admin', [...applicationOperations, ...adminOperations]);
  const answerOf = (path: string, method: string, status: number): Schema =>
    paths[path][method].responses[status].content['application/json'].schema;
  const event = fieldsIn(answerOf('/v1/metrics/{key}/event', 'post', 201), 'event');
  const textOf = (fields: [string, Schema][], path: string) => fields.find(([one]) => one === path)?.[1].description;
  expect(textOf(event, 'event.achievements')).toBe('The achievements that the event completed.');
  expect(textOf(event, 'event.achievements.key')).toBe('Key of the achievement.');
  expect(textOf(event, 'event.points.level.key')).toBe('Key of the level.');
  expect(textOf(event, 'event.points.level.points')).toBe('Minimum points of the level.');
  expect(textOf(event, 'event.points.awards.date')).toBe('When the points were awarded.');
  const created = fieldsIn(answerOf('/v1/metrics', 'post', 201), 'answer');
  expect(textOf(created, 'answer.created')).toBe('The metrics that were created.');
  const guards = fieldsIn(answerOf('/v1/users/{id}/guards', 'get', 200), 'answer');
  expect(textOf(guards, 'answer.refused')).toBe('How many events the guard refused.');
  // Placeholders are always replaced.
  expect(JSON.stringify(paths)).not.toContain('{noun');
});

test.each(['application', 'admin'] as const)('the %s document begins with what a newcomer needs', (surface) => {
  const { info } = documentOf(surface, []);
  expect(info).toMatchObject({ version: '1.19.0', 'x-laurel-version': version() });
  expect(info.description).toContain(`Laurel ${version()}, which implements version 1.19.0`);
  const contracts = ['application.json', 'newer.json'].map(
    (file) => JSON.parse(read(`test/contract/${file}`)).info.version,
  );
  expect(info.description).toContain(
    `wire contract of client libraries is numbered separately: Laurel implements its versions ${contracts.join(' and ')}.`,
  );
  const page = read('docs/compatibility.md').replaceAll('\n', ' ');
  expect(page).toContain(`versions ${contracts.join(' and ')} of the wire contract`);
  expect(page).toContain(`declare version ${info.version}.`);
  const headings = [...info.description.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(['Authentication', 'Idempotency', 'Errors', 'Rate limits']);
});

test.each([
  ['application', applicationOperations],
  ['admin', adminOperations],
] as const)('every enumeration of the %s document has a type', (surface, operations) => {
  const untyped: unknown[] = [];
  JSON.stringify(documentOf(surface, operations), (_name, value) => {
    if (Array.isArray(value?.enum) && value.type === undefined) untyped.push(value.enum);
    return value;
  });
  expect(untyped).toEqual([]);
});

test('the application document lists the webhooks, each with its headers and an example that fits', () => {
  const { webhooks, components } = documentOf('application', []);
  expect(Object.keys(webhooks)).toEqual([...WEBHOOK_EVENTS]);
  const ajv = makeAjv();
  for (const [type, { post }] of Object.entries<Record<string, DescribedWebhook>>(webhooks)) {
    const { schema, examples } = post!.requestBody.content['application/json'];
    expect([type, ajv.validate(schema, examples.Example.value), ajv.errors]).toEqual([type, true, null]);
    expect([post!.operationId, post!.description.length > 20]).toEqual([`webhooks_${type.replace('.', '_')}`, true]);
    const names = post!.parameters.map(({ $ref }) => components.parameters[$ref.split('/').at(-1)!].name);
    expect(names).toEqual(expect.arrayContaining(['webhook-id', 'webhook-signature', 'X-Laurel-Signature']));
  }
  for (const name of ['WebhookId', 'WebhookTimestamp', 'WebhookSequence']) {
    const { schema, example: sample } = components.parameters[name];
    expect([name, ajv.validate(schema, sample)]).toEqual([name, true]);
  }
  expect(documentOf('admin', [])).not.toHaveProperty('webhooks');
});

test('does not describe what an operation does not accept', () => {
  const { body: _body, ...rest } = example;
  const described = documentOf('application', [{ ...rest, body: null, idempotent: false, scope: 'organisation' }])
    .paths['/v1/things/{key}/event/{day}'].post;
  expect(described.requestBody).toBeUndefined();
  expect(JSON.stringify(described.parameters)).not.toContain('$ref');
  expect(described.responses).not.toHaveProperty('413');
  expect(described.security).toBeUndefined();
});

test.each([
  ['application', applicationOperations],
  ['admin', adminOperations],
] as const)('GET /v1/openapi of the %s surface, without a key', async (surface, operations) => {
  const { client, server } = await startServer({ surface, operations });
  const { status, body } = await client.get('/v1/openapi', { key: null });
  expect([status, body.openapi, body.info.version]).toEqual([200, '3.1.0', '1.19.0']);
  const ids = Object.values(body.paths).flatMap((methods) =>
    Object.values(methods as Record<string, { operationId: string }>).map(({ operationId }) => operationId),
  );
  expect(ids.sort()).toEqual(operations.map(({ id }) => id).sort());
  expect(body.components.securitySchemes.ApiKeyAuth).toEqual({ type: 'apiKey', in: 'header', name: 'X-API-KEY' });
  // Every reference has a target.
  for (const [, pointer] of JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const found = pointer!
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], body);
    expect([pointer, found === undefined]).toEqual([pointer, false]);
  }
  server.close();
});

test('a body that may be absent needs nothing, and is described so', () => {
  const optional = [...applicationOperations, ...adminOperations].filter(({ isBodyOptional }) => isBodyOptional);
  expect(optional.map(({ id }) => id)).toContain('live_tickets_create');
  const ajv = makeAjv();
  for (const { id, surface, path, method, body } of optional) {
    expect([id, ajv.validate(body!, {})]).toEqual([id, true]);
    expect(documentOf(surface, optional).paths[path][method].requestBody.required).toBe(false);
  }
});

test('the document has the operations that exist, not as many earlier ones', async () => {
  const only = (id: string): Operation => ({
    ...example,
    id,
    surface: 'admin',
    path: `/v1/${id}`,
    aliases: [],
    params: null,
  });
  let operations = [only('first')];
  const { file } = adminOpenapiGet(() => operations);
  const paths = async (): Promise<string[]> => {
    const { body } = await file!({ testClock: null } as never);
    return Object.keys((JSON.parse(String(body)) as { paths: object }).paths);
  };
  expect(await paths()).toEqual(['/v1/first']);
  operations = [only('second')];
  expect(await paths()).toEqual(['/v1/second']);
});
