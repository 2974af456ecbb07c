import { Type } from 'typebox';
import { ChangedUser, UpdatedUser, UserId } from '../../../domain/user.ts';
import { isClient, operation } from '../../operation.ts';
import { recordProfileChange } from './record-profile-change.ts';

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
  responses: { 200: ChangedUser },
  namedUsers: ({ params }) => [params.id],
  handle: async (services, call) => {
    const { tenant, params, body, span } = call;
    const changed = await services.profiles.upsert(await services.catalogs.of(tenant.no), params.id, body, {
      byClient: isClient(call.caller),
      span,
    });
    recordProfileChange(services, call, { userId: params.id, sent: body });
    return { status: 200, body: changed };
  },
});
