import { Type } from 'typebox';
import { DeletedUsers } from '../../../domain/admin.ts';
import { UserId } from '../../../domain/user.ts';
import { deleteEach } from '../../bulk.ts';
import { operation } from '../../operation.ts';

export const adminUsersDelete = operation({
  id: 'admin_users_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/users',
  summary: 'Delete users with all that is held about them; what comes after is of new users',
  query: Type.Object({ ids: Type.Array(UserId, { minItems: 1, maxItems: 100 }) }),
  responses: { 200: DeletedUsers },
  handle: async ({ deletion }, { tenant, by, span, query }) => ({
    status: 200,
    body: await deleteEach(query.ids, {
      noun: 'user',
      exact: true,
      work: (ids) => deletion.delete(tenant.no, ids, { by, span }),
    }),
  }),
});
