import { Type } from 'typebox';
import { User, UserId } from '../../../domain/user.ts';
import { operation } from '../../operation.ts';

export const usersGet = operation({
  id: 'users_get',
  surface: 'application',
  keyScopes: ['read', 'profile'],
  method: 'get',
  path: '/v1/users/{id}',
  summary: 'A user',
  params: Type.Object({ id: UserId }),
  responses: { 200: User },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, profiles }, { tenant, params }) => ({
    status: 200,
    body: await profiles.get(await catalogs.of(tenant.no), params.id),
  }),
});
