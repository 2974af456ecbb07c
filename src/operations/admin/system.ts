import { SystemState } from '../../domain/administration/system.ts';
import { operation } from '../operation.ts';

export const adminSystemGet = operation({
  id: 'admin_system_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/system',
  summary: 'What the installation runs on: versions, memory, where shards are, and what each waits to have stored',
  description:
    'What a server that does not answer within two seconds would say is null. How Laurel fares is in `GET /metrics`.',
  scope: 'organisation',
  responses: { 200: SystemState },
  handle: async ({ system }) => ({ status: 200, body: await system() }),
});
