import { Type } from 'typebox';
import { Paging } from '../../../domain/admin.ts';
import { User } from '../../../domain/user.ts';
import { operation } from '../../operation.ts';

export const adminUsersList = operation({
  id: 'admin_users_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/users',
  summary: 'The users by ID, or those whose ID, name, last name or e-mail address begins with a text',
  query: Type.Object({ ...Paging.properties, search: Type.Optional(Type.String({ maxLength: 255 })) }),
  responses: { 200: Type.Array(User) },
  handle: async ({ directory, catalogs }, { tenant, query }) => ({
    status: 200,
    body: await directory.list(await catalogs.of(tenant.no), query),
  }),
});
