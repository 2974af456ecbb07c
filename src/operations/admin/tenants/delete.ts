import { DeletedResources, Ids } from '../../../domain/admin.ts';
import { deleteEach } from '../../bulk.ts';
import { operation } from '../../operation.ts';

export const adminTenantsDelete = operation({
  id: 'admin_tenants_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/tenants',
  summary: 'Archive tenants; their data rests',
  scope: 'organisation',
  query: Ids,
  responses: { 200: DeletedResources },
  handle: async ({ tenants }, { by, query }) => ({
    status: 200,
    body: await deleteEach(query.ids, { noun: 'tenant', work: (ids) => tenants.delete(ids, by) }),
  }),
});
