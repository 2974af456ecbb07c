import { Type } from 'typebox';
import { Paging } from '../domain/administration/admin.ts';
import {
  Configuration,
  ConfigurationChange,
  configurationJsonSchema,
  ConfigurationVersion,
  DemoChoice,
  DemoResource,
  SentConfiguration,
} from '../domain/configuration.ts';
import { jsonInSlices } from '../pacing/slices.ts';
import { type Answer, operation } from './operation.ts';
import { jsonFile, type StaticFile } from './static-file.ts';

/** Documents and lists of changes may have thousands of resources. */
const jsonAnswer = async (body: object): Promise<Answer> => ({ status: 200, json: await jsonInSlices(body, 2) });

export const adminConfigurationGet = operation('admin_configuration_get', 'GET /v1/configuration', {
  summary: 'The whole configuration as one document, with references by key',
  responses: { 200: Configuration },
  handle: async ({ configuration }, { tenant }) => jsonAnswer(await configuration.read(tenant.no)),
});

export const adminConfigurationPut = operation('admin_configuration_put', 'PUT /v1/configuration', {
  summary: 'Apply a document to the configuration; lists that it omits stay unchanged',
  description:
    'If the demo is configured, `demo` in the answer lists the demo resources that the document keeps without naming them. The ' +
    'parameter `demo` decides about them: `remove` deletes them, `keep` makes them your own.',
  query: Type.Object({ demo: Type.Optional(DemoChoice) }),
  body: SentConfiguration,
  bodyBytes: null,
  knownFields: SentConfiguration,
  responses: {
    200: Type.Object({
      version: Type.Integer(),
      changes: Type.Array(ConfigurationChange),
      demo: Type.Array(DemoResource),
    }),
  },
  handle: async ({ configuration }, { tenant, query, body, by }) =>
    jsonAnswer(await configuration.apply(tenant.no, body, by, query.demo)),
});

export const adminConfigurationDiff = operation('admin_configuration_diff', 'POST /v1/configuration/diff', {
  keyScopes: ['read'],
  summary: 'What applying the document would change',
  description:
    '`demo` lists the demo resources that the document would keep without naming them. The changes are those of a ' +
    '`PUT` with the same parameter `demo`.',
  query: Type.Object({ demo: Type.Optional(DemoChoice) }),
  body: SentConfiguration,
  bodyBytes: null,
  knownFields: SentConfiguration,
  responses: { 200: Type.Object({ changes: Type.Array(ConfigurationChange), demo: Type.Array(DemoResource) }) },
  handle: async ({ configuration }, { tenant, query, body }) =>
    jsonAnswer(await configuration.diff(tenant.no, body, query.demo)),
});

let schemaFile: Promise<StaticFile> | undefined;

export const adminConfigurationSchemaGet = operation('admin_configuration_schema_get', 'GET /v1/configuration/schema', {
  summary: 'The JSON Schema of the configuration document',
  description:
    'With its address as `$schema` in a file, editors complete the fields of the document and mark mistakes.',
  scope: 'public',
  responses: {
    200: Type.Object({
      $schema: Type.String({
        description: 'The version of JSON Schema.',
        examples: ['https://json-schema.org/draft/2020-12/schema'],
      }),
      title: Type.String({ description: 'What the schema describes.', examples: ['Laurel configuration'] }),
      type: Type.Literal('object', { description: 'The document is an object.' }),
      properties: Type.Unknown({ description: 'The schemas of the lists and settings.' }),
    }),
  },
  file: () => (schemaFile ??= jsonFile(JSON.stringify(configurationJsonSchema()))),
});

export const adminConfigurationVersionsList = operation(
  'admin_configuration_versions_list',
  'GET /v1/configuration/versions',
  {
    summary: 'The versions of the configuration, newest first: who made each, when, and what it changed',
    description: 'Every change makes a version. Versions are listed as long as the audit log keeps their changes.',
    query: Paging,
    responses: { 200: Type.Array(ConfigurationVersion) },
    answer: ({ configuration }, { tenant, query }) => configuration.versions(tenant.no, query),
  },
);

export const adminConfigurationVersionsGet = operation(
  'admin_configuration_versions_get',
  'GET /v1/configuration/versions/{version}',
  {
    summary: 'The document of a version of the configuration',
    description:
      'To restore the version, send the document to `PUT /v1/configuration`; `POST /v1/configuration/diff` previews what that changes.',
    params: Type.Object({ version: Type.String({ pattern: '^[1-9][0-9]{0,14}$' }) }),
    responses: { 200: Configuration },
    handle: async ({ configuration }, { tenant, params }) =>
      jsonAnswer(await configuration.readVersion(tenant.no, Number(params.version))),
  },
);
