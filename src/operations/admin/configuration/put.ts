import { Type } from 'typebox';
import { Configuration, ConfigurationChange, DemoChoice, DemoResource } from '../../../domain/configuration.ts';
import { operation } from '../../operation.ts';

export const adminConfigurationPut = operation({
  id: 'admin_configuration_put',
  surface: 'admin',
  method: 'put',
  path: '/v1/configuration',
  summary: 'Make the configuration what the document says; lists that it does not name stay',
  description:
    'Where the demo is configured, the answer lists under `demo` what of it the document leaves in force without naming it. The ' +
    'parameter `demo` decides about that: `remove` deletes it, `keep` makes it your own.',
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
