import { Type } from 'typebox';
import { Environment } from '../../domain/settings.ts';
import { operation } from '../operation.ts';

export const adminEnvironmentsList = operation({
  id: 'admin_environments_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/environments',
  summary: 'The environment that this deployment is',
  description:
    'Always one: every environment is a deployment of its own, named by `ENVIRONMENT_NAME` and `ENVIRONMENT_KEY`.',
  responses: { 200: Type.Array(Environment) },
  handle: async ({ environment }) => ({ status: 200, body: [environment] }),
});
