import { Type } from 'typebox';
import { GuardCount } from '../../../domain/quarantine.ts';
import { UserId } from '../../../domain/user.ts';
import { operation } from '../../operation.ts';

export const adminUsersGuards = operation({
  id: 'admin_users_guards',
  surface: 'admin',
  method: 'get',
  path: '/v1/users/{id}/guards',
  summary: 'How often guards of metrics stopped events of a user; empty where none did',
  params: Type.Object({ id: UserId }),
  responses: { 200: Type.Array(GuardCount) },
  handle: async ({ quarantine, catalogs }, { tenant, params }) => ({
    status: 200,
    body: await quarantine.countsOf(await catalogs.of(tenant.no), params.id),
  }),
});
