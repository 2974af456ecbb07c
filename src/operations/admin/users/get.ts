import { Type } from 'typebox';
import { ManagedUser } from '../../../domain/admin.ts';
import { UserId } from '../../../domain/user.ts';
import { managedUserResponse } from '../../../engine/responses/managed-user-response.ts';
import { operation } from '../../operation.ts';

export const adminUsersGet = operation({
  id: 'admin_users_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/users/{id}',
  summary: 'What administrators decide about a user: whether leaderboards show them',
  params: Type.Object({ id: UserId }),
  responses: { 200: ManagedUser },
  handle: async ({ users }, { tenant, params: { id } }) => ({
    status: 200,
    body: managedUserResponse(id, await users.state(tenant.no, id)),
  }),
});
