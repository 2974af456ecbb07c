import { Type } from 'typebox';
import { ManagedUser } from '../../../domain/admin.ts';
import { UserId } from '../../../domain/user.ts';
import { managedUserResponse } from '../../../engine/responses/managed-user-response.ts';
import { operation } from '../../operation.ts';

const UpdatedManagedUser = Type.Object({ hidden: Type.Optional(Type.Boolean()) });

export const adminUsersUpdate = operation({
  id: 'admin_users_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/users/{id}',
  summary: 'Hide a user from leaderboards, or show a hidden one again',
  description:
    'Who is hidden keeps all scores and holds no place: on no board, in no count of participants, in no rank that others see. ' +
    'Runs that are final stay as they are. A user may be hidden by own wish, too (`hiddenByUser`), and is shown when neither holds.',
  params: Type.Object({ id: UserId }),
  body: UpdatedManagedUser,
  knownFields: UpdatedManagedUser,
  responses: { 200: ManagedUser },
  handle: async ({ hiding, users, catalogs, recordAudit }, { tenant, by, params: { id }, body: { hidden } }) => {
    if (hidden === undefined) return { status: 200, body: managedUserResponse(id, await users.state(tenant.no, id)) };
    const state = await hiding.set(await catalogs.of(tenant.no), id, { by: 'admin', hidden });
    const entry = { action: 'update', kind: 'user', userId: id, after: { hidden } } as const;
    void recordAudit({ tenantNo: tenant.no, by, entries: [entry] });
    return { status: 200, body: managedUserResponse(id, state) };
  },
});
