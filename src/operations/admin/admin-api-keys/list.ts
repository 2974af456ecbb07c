import { Type } from 'typebox';
import { AdminKey, Paging } from '../../../domain/admin.ts';
import { operation } from '../../operation.ts';
import { adminKeyAnswer } from './admin-key-answer.ts';

export const adminAdminApiKeysList = operation({
  id: 'admin_admin_api_keys_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/admin-api-keys',
  summary: 'The admin keys, oldest first, without their secrets',
  scope: 'organisation',
  query: Paging,
  responses: { 200: Type.Array(AdminKey) },
  handle: async ({ adminKeys }, { query }) => ({
    status: 200,
    body: (await adminKeys.list(query)).map(adminKeyAnswer),
  }),
});
