import { DeletedResources, Ids } from '../../../domain/admin.ts';
import { deleteEach } from '../../bulk.ts';
import { operation } from '../../operation.ts';

export const adminApplicationApiKeysDelete = operation({
  id: 'admin_application_api_keys_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/application-api-keys',
  summary: 'Delete application keys; they hold nowhere from now on',
  query: Ids,
  responses: { 200: DeletedResources },
  handle: async ({ applicationKeys }, { tenant, by, query }) => ({
    status: 200,
    body: await deleteEach(query.ids, {
      noun: 'application key',
      work: (ids) => applicationKeys.delete(tenant.no, ids, by),
    }),
  }),
});
