import { Type } from 'typebox';
import { Configuration, ConfigurationChange } from '../../../domain/configuration.ts';
import { operation } from '../../operation.ts';

export const adminConfigurationPut = operation({
  id: 'admin_configuration_put',
  surface: 'admin',
  method: 'put',
  path: '/v1/configuration',
  summary: 'Make the configuration what the document says; lists that it does not name stay',
  body: Configuration,
  bodyBytes: null,
  knownFields: Configuration,
  responses: { 200: Type.Object({ version: Type.Integer(), changes: Type.Array(ConfigurationChange) }) },
  handle: async ({ configuration }, { tenant, body, by }) => ({
    status: 200,
    body: await configuration.apply(tenant.no, body, by),
  }),
});
