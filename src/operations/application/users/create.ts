import { UpsertedUser, User } from '../../../domain/user.ts';
import { operation } from '../../operation.ts';

export const usersCreate = operation({
  id: 'users_create',
  surface: 'application',
  keyScopes: ['profile'],
  audited: true,
  method: 'post',
  path: '/v1/users',
  summary: 'Create a user, or change one who is there',
  body: UpsertedUser,
  responses: { 201: User },
  namedUsers: ({ body }) => [body.id],
  handle: async ({ catalogs, profiles }, { tenant, body }) => ({
    status: 201,
    body: await profiles.upsert(await catalogs.of(tenant.no), body.id, body),
  }),
});
