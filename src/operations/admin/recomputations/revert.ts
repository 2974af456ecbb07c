import { Type } from 'typebox';
import { Recomputation } from '../../../domain/recomputation.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { operation } from '../../operation.ts';

export const adminRecomputationsRevert = operation({
  id: 'admin_recomputations_revert',
  surface: 'admin',
  method: 'post',
  path: '/v1/recomputations/{id}/revert',
  mayConflict: true,
  summary: 'Take back all that a recomputation did',
  description: `Points by compensating entries, never below 0; achievements that it completed go, those that it revoked come back as they
were. 409 where nothing was applied.`,
  params: Type.Object({ id: Uuid }),
  responses: { 202: Recomputation },
  handle: async ({ catalogs, recomputations }, { tenant, by, params }) => ({
    status: 202,
    body: await recomputations.revert(await catalogs.of(tenant.no), params.id, by),
  }),
});
