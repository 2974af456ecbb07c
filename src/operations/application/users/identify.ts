import { Type } from 'typebox';
import { UpdatedUser, User, UserId } from '../../../domain/user.ts';
import { operation } from '../../operation.ts';

export const usersIdentify = operation({
  id: 'users_identify',
  surface: 'application',
  keyScopes: ['profile'],
  audited: true,
  method: 'put',
  path: '/v1/users/{id}',
  summary: 'Change a user, or create one',
  params: Type.Object({ id: UserId }),
  body: UpdatedUser,
  responses: { 200: User },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, profiles }, { tenant, params, body }) => ({
    status: 200,
    body: await profiles.upsert(await catalogs.of(tenant.no), params.id, body),
  }),
});
