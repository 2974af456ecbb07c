import { Type } from 'typebox';
import { WrappedResponse } from '../../../domain/wrapped.ts';
import { operation } from '../../operation.ts';

export const usersWrapped = operation({
  id: 'users_wrapped',
  surface: 'application',
  method: 'get',
  path: '/v1/users/{id}/wrapped',
  summary: "A user's year in review",
  params: Type.Object({ id: Type.String() }),
  query: Type.Object({ year: Type.Optional(Type.Integer({ minimum: 1 })) }),
  responses: { 200: WrappedResponse },
  namedUsers: ({ params }) => [params.id],
  handle: async ({ catalogs, wrapped }, { tenant, params, query }) => ({
    status: 200,
    body: await wrapped.read(await catalogs.of(tenant.no), params.id, query.year),
  }),
});
