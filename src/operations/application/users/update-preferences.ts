import { Type } from 'typebox';
import { UpdateUserPreferencesRequest, UserPreferencesResponse } from '../../../domain/preferences.ts';
import { operation } from '../../operation.ts';
import { recordProfileChange } from './record-profile-change.ts';

export const usersUpdatePreferences = operation({
  id: 'users_update_preferences',
  surface: 'application',
  keyScopes: ['profile'],
  audited: true,
  method: 'patch',
  path: '/v1/users/{id}/preferences',
  summary: 'Change what a user prefers',
  params: Type.Object({ id: Type.String() }),
  body: UpdateUserPreferencesRequest,
  responses: { 200: UserPreferencesResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async (services, call) => {
    const { tenant, params, body, span } = call;
    const changed = await services.profiles.updatePreferences(
      await services.catalogs.of(tenant.no),
      params.id,
      body,
      span,
    );
    recordProfileChange(services, call, { userId: params.id, sent: body });
    return { status: 200, body: changed };
  },
});
