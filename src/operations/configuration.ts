import { Type } from 'typebox';
import { Configuration, ConfigurationChange, DemoChoice, DemoResource } from '../domain/configuration.ts';
import { operation } from './operation.ts';

export const adminConfigurationGet = operation({
  id: 'admin_configuration_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/configuration',
  summary: 'The whole configuration as one document, with references by key',
  responses: { 200: Configuration },
  handle: async ({ configuration }, { tenant }) => ({ status: 200, body: await configuration.read(tenant.no) }),
});

export const adminConfigurationPut = operation({
  id: 'admin_configuration_put',
  surface: 'admin',
  method: 'put',
  path: '/v1/configuration',
  summary: 'Apply a document to the configuration; lists that it omits stay unchanged',
  description:
    'If the demo is configured, `demo` in the answer lists the demo resources that the document keeps without naming them. The ' +
    'parameter `demo` decides about them: `remove` deletes them, `keep` makes them your own.',
  query: Type.Object({ demo: Type.Optional(DemoChoice) }),
  body: Configuration,
  bodyBytes: null,
  knownFields: Configuration,
  responses: {
    200: Type.Object({
      version: Type.Integer(),
      changes: Type.Array(ConfigurationChange),
      demo: Type.Array(DemoResource),
    }),
  },
  handle: async ({ configuration }, { tenant, query, body, by }) => ({
    status: 200,
    body: await configuration.apply(tenant.no, body, by, query.demo),
  }),
});

export const adminConfigurationDiff = operation({
  id: 'admin_configuration_diff',
  surface: 'admin',
  keyScopes: ['read'],
  method: 'post',
  path: '/v1/configuration/diff',
  summary: 'What applying the document would change',
  description:
    '`demo` lists the demo resources that the document would keep without naming them. The changes are those of a ' +
    '`PUT` with the same parameter `demo`.',
  query: Type.Object({ demo: Type.Optional(DemoChoice) }),
  body: Configuration,
  bodyBytes: null,
  knownFields: Configuration,
  responses: { 200: Type.Object({ changes: Type.Array(ConfigurationChange), demo: Type.Array(DemoResource) }) },
  handle: async ({ configuration }, { tenant, query, body }) => ({
    status: 200,
    body: await configuration.diff(tenant.no, body, query.demo),
  }),
});
