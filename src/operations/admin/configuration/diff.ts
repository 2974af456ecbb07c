import { Type } from 'typebox';
import { Configuration, ConfigurationChange, DemoChoice, DemoResource } from '../../../domain/configuration.ts';
import { operation } from '../../operation.ts';

export const adminConfigurationDiff = operation({
  id: 'admin_configuration_diff',
  surface: 'admin',
  keyScopes: ['read'],
  method: 'post',
  path: '/v1/configuration/diff',
  summary: 'What applying the document would change',
  description:
    '`demo` lists the resources of the demo that the document would leave in force without naming them. The changes are those of a ' +
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
