import { Type } from 'typebox';
import { UpdatedUser, User, UserId } from '../../../domain/user.ts';
import { operation } from '../../operation.ts';

export const usersUpdate = operation({
  id: 'users_update',
  surface: 'application',
  keyScopes: ['profile'],
  audited: true,
  method: 'patch',
  path: '/v1/users/{id}',
  summary: 'Change a user who is there',
  params: Type.Object({ id: UserId }),
  body: UpdatedUser,
  responses: { 200: User },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, profiles }, { tenant, params, body }) => ({
    status: 200,
    body: await profiles.update(await catalogs.of(tenant.no), params.id, body),
  }),
});
