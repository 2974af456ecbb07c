import { DeletedResources, Ids } from '../../../domain/admin.ts';
import { deleteEach } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { LAST_KEY } from './admin-key-answer.ts';

export const adminAdminApiKeysDelete = operation({
  id: 'admin_admin_api_keys_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/admin-api-keys',
  summary: 'Delete admin keys; they hold nowhere from now on, and the last active one stays',
  scope: 'organisation',
  query: Ids,
  responses: { 200: DeletedResources },
  handle: async ({ adminKeys }, { by, query }) => {
    const work = async (ids: string[]) => {
      const { deleted, last } = await adminKeys.delete(ids, by);
      return { deleted, refused: new Map(last.map((id) => [id, LAST_KEY])) };
    };
    return { status: 200, body: await deleteEach(query.ids, { noun: 'admin key', work }) };
  },
});
