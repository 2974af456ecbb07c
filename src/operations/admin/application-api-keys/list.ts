import { Type } from 'typebox';
import { ApplicationKey, Paging } from '../../../domain/admin.ts';
import { UserId } from '../../../domain/user.ts';
import { operation } from '../../operation.ts';
import { applicationKeyAnswer } from './application-key-answer.ts';

export const adminApplicationApiKeysList = operation({
  id: 'admin_application_api_keys_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/application-api-keys',
  summary: 'The application keys, oldest first, or those of one user; without their secrets',
  query: Type.Object({ ...Paging.properties, userId: Type.Optional(UserId) }),
  responses: { 200: Type.Array(ApplicationKey) },
  handle: async ({ applicationKeys }, { tenant, query }) => ({
    status: 200,
    body: (await applicationKeys.list(tenant.no, query)).map(applicationKeyAnswer),
  }),
});
