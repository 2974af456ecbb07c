import { Type } from 'typebox';
import { AdminTenant, Paging } from '../../../domain/admin.ts';
import { operation } from '../../operation.ts';
import { tenantAnswer } from './tenant-answer.ts';

export const adminTenantsList = operation({
  id: 'admin_tenants_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/tenants',
  summary: 'The active tenants, oldest first',
  scope: 'organisation',
  query: Paging,
  responses: { 200: Type.Array(AdminTenant) },
  handle: async ({ tenants }, { query }) => ({ status: 200, body: (await tenants.list(query)).map(tenantAnswer) }),
});
