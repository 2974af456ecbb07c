import { Type } from 'typebox';
import { Configuration, ConfigurationChange } from '../../../domain/configuration.ts';
import { operation } from '../../operation.ts';

export const adminConfigurationDiff = operation({
  id: 'admin_configuration_diff',
  surface: 'admin',
  keyScopes: ['read'],
  method: 'post',
  path: '/v1/configuration/diff',
  summary: 'What applying the document would change',
  body: Configuration,
  bodyBytes: null,
  knownFields: Configuration,
  responses: { 200: Type.Object({ changes: Type.Array(ConfigurationChange) }) },
  handle: async ({ configuration }, { tenant, body }) => ({
    status: 200,
    body: { changes: await configuration.diff(tenant.no, body) },
  }),
});
