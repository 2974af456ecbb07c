import { Type } from 'typebox';
import { UpdateUserPreferencesRequest, UserPreferencesResponse } from '../../../domain/preferences.ts';
import { operation } from '../../operation.ts';

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
  handle: async ({ catalogs, profiles }, { tenant, params, body }) => ({
    status: 200,
    body: await profiles.updatePreferences(await catalogs.of(tenant.no), params.id, body),
  }),
});
