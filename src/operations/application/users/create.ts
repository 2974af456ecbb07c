import { ChangedUser, UpsertedUser } from '../../../domain/user.ts';
import { isClient, operation } from '../../operation.ts';
import { recordProfileChange } from './record-profile-change.ts';

export const usersCreate = operation({
  id: 'users_create',
  surface: 'application',
  keyScopes: ['profile'],
  audited: true,
  method: 'post',
  path: '/v1/users',
  summary: 'Create a user, or change one who is there',
  body: UpsertedUser,
  responses: { 201: ChangedUser },
  namedUsers: ({ body }) => [body.id],
  handle: async (services, call) => {
    const { tenant, body, span } = call;
    const changed = await services.profiles.upsert(await services.catalogs.of(tenant.no), body.id, body, {
      byClient: isClient(call.caller),
      span,
    });
    recordProfileChange(services, call, { userId: body.id, sent: body });
    return { status: 201, body: changed };
  },
});
