import { Type } from 'typebox';
import { Recomputation } from '../../../domain/recomputation.ts';
import { operation } from '../../operation.ts';

export const adminRecomputationsList = operation({
  id: 'admin_recomputations_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/recomputations',
  summary: 'The latest 100 recomputations, newest first',
  responses: { 200: Type.Array(Recomputation) },
  handle: async ({ catalogs, recomputations }, { tenant }) => ({
    status: 200,
    body: await recomputations.list(await catalogs.of(tenant.no)),
  }),
});
