import { Type } from 'typebox';
import { Recomputation } from '../../../domain/recomputation.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { operation } from '../../operation.ts';

export const adminRecomputationsCancel = operation({
  id: 'admin_recomputations_cancel',
  surface: 'admin',
  method: 'post',
  path: '/v1/recomputations/{id}/cancel',
  mayConflict: true,
  summary: 'End a recomputation that is planned, being planned, or being applied',
  description: `What it has applied so far stays, and can be reverted. 409 where it is at rest.`,
  params: Type.Object({ id: Uuid }),
  responses: { 202: Recomputation },
  handle: async ({ catalogs, recomputations }, { tenant, by, params }) => ({
    status: 202,
    body: await recomputations.cancel(await catalogs.of(tenant.no), params.id, by),
  }),
});
