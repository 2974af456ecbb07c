import { Configuration } from '../../../domain/configuration.ts';
import { operation } from '../../operation.ts';

export const adminConfigurationGet = operation({
  id: 'admin_configuration_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/configuration',
  summary: 'The whole configuration as one document, referring by key',
  responses: { 200: Configuration },
  handle: async ({ configuration }, { tenant }) => ({ status: 200, body: await configuration.read(tenant.no) }),
});
