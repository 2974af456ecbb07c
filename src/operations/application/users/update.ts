import { Type } from 'typebox';
import { ChangedUser, UpdatedUser, UserId } from '../../../domain/user.ts';
import { isClient, operation } from '../../operation.ts';
import { recordProfileChange } from './record-profile-change.ts';

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
  responses: { 200: ChangedUser },
  namedUsers: ({ params }) => [params.id],
  handle: async (services, call) => {
    const { tenant, params, body, span } = call;
    const changed = await services.profiles.update(await services.catalogs.of(tenant.no), params.id, body, {
      byClient: isClient(call.caller),
      span,
    });
    recordProfileChange(services, call, { userId: params.id, sent: body });
    return { status: 200, body: changed };
  },
});
