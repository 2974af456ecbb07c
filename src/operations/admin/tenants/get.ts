import { Type } from 'typebox';
import { AdminTenant } from '../../../domain/admin.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { AppError } from '../../../errors.ts';
import { operation } from '../../operation.ts';
import { tenantAnswer } from './tenant-answer.ts';

export const adminTenantsGet = operation({
  id: 'admin_tenants_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/tenants/{id}',
  summary: 'One tenant',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: AdminTenant },
  handle: async ({ tenants }, { params }) => {
    const tenant = await tenants.get(params.id);
    if (tenant === null) throw new AppError('not_found', 'There is no tenant with this ID');
    return { status: 200, body: tenantAnswer(tenant) };
  },
});
