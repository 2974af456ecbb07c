import { Type } from 'typebox';
import { RecomputationDetails } from '../../../domain/recomputation.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { operation } from '../../operation.ts';

export const adminRecomputationsGet = operation({
  id: 'admin_recomputations_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/recomputations/{id}',
  summary: 'A recomputation: how far it is, its figures, and some of its users',
  params: Type.Object({ id: Uuid }),
  responses: { 200: RecomputationDetails },
  handle: async ({ catalogs, recomputations }, { tenant, params }) => ({
    status: 200,
    body: await recomputations.get(await catalogs.of(tenant.no), params.id),
  }),
});
