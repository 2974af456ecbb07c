import { Type } from 'typebox';
import { Recomputation } from '../../../domain/recomputation.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { operation } from '../../operation.ts';

export const adminRecomputationsApply = operation({
  id: 'admin_recomputations_apply',
  surface: 'admin',
  method: 'post',
  path: '/v1/recomputations/{id}/apply',
  mayConflict: true,
  summary: 'Apply a plan, exactly as it was shown',
  description: `Each user in one step, once, whatever crashes. Points are moved by the difference that was planned; an achievement that
is no longer as it was planned from stays as it is. 409 where the recomputation is not planned, or another one was applied or
reverted since.`,
  params: Type.Object({ id: Uuid }),
  responses: { 202: Recomputation },
  handle: async ({ catalogs, recomputations }, { tenant, by, params }) => ({
    status: 202,
    body: await recomputations.apply(await catalogs.of(tenant.no), params.id, by),
  }),
});
