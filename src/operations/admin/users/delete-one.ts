import { Type } from 'typebox';
import { DeletedUsers } from '../../../domain/admin.ts';
import { UserId } from '../../../domain/user.ts';
import { AppError } from '../../../errors.ts';
import { deleteEach } from '../../bulk.ts';
import { operation } from '../../operation.ts';

export const adminUsersDeleteOne = operation({
  id: 'admin_users_delete_one',
  surface: 'admin',
  method: 'delete',
  path: '/v1/users/{id}',
  summary: 'Delete one user, whose ID may hold a comma, which separates those of the list',
  params: Type.Object({ id: UserId }),
  responses: { 200: DeletedUsers },
  handle: async ({ deletion }, { tenant, by, span, params }) => {
    const body = await deleteEach([params.id], {
      noun: 'user',
      exact: true,
      work: (ids) => deletion.delete(tenant.no, ids, { by, span }),
    });
    if (body.deleted.length === 0) throw new AppError('not_found', 'There is no user with this ID');
    return { status: 200, body };
  },
});
