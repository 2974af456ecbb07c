import { Type } from 'typebox';
import { UserPreferencesResponse } from '../../../domain/preferences.ts';
import { operation } from '../../operation.ts';

export const usersGetPreferences = operation({
  id: 'users_get_preferences',
  surface: 'application',
  keyScopes: ['read', 'profile'],
  method: 'get',
  path: '/v1/users/{id}/preferences',
  summary: 'What a user prefers',
  params: Type.Object({ id: Type.String() }),
  responses: { 200: UserPreferencesResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, profiles }, { tenant, params }) => ({
    status: 200,
    body: await profiles.preferences(await catalogs.of(tenant.no), params.id),
  }),
});
