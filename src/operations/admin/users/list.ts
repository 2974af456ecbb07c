import { Type } from 'typebox';
import { Paging } from '../../../domain/admin.ts';
import { User, UserId } from '../../../domain/user.ts';
import { AppError } from '../../../errors.ts';
import { operation } from '../../operation.ts';

export const adminUsersList = operation({
  id: 'admin_users_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/users',
  summary: 'The users by ID, or those whose ID, name, last name or e-mail address begins with a text',
  description:
    'A page that has fewer users than `limit` is the last. `after` takes the ID of the last user of the page before, and ' +
    'costs the same at any depth; what `skip` passes over has to be read.',
  query: Type.Object({
    ...Paging.properties,
    after: Type.Optional(UserId),
    order: Type.Optional(Type.Enum(['asc', 'desc'])),
    search: Type.Optional(Type.String({ maxLength: 255 })),
  }),
  responses: { 200: Type.Array(User) },
  handle: async ({ directory, catalogs }, { tenant, query }) => {
    if (query.after !== undefined && query.skip > 0)
      throw new AppError('unprocessable', 'skip: not together with after, which says where the page begins');
    if (query.order === 'desc' && query.search)
      throw new AppError('unprocessable', 'order: what is found by search is in its own order');
    return { status: 200, body: await directory.list(await catalogs.of(tenant.no), query) };
  },
});
