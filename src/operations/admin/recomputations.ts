import { Type } from 'typebox';
import {
  Recomputation,
  RecomputationDetails,
  RecomputationRequest,
} from '../../domain/administration/recomputation.ts';
import { Uuid } from '../../domain/schemas.ts';
import { operation } from '../operation.ts';

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

export const adminRecomputationsGet = operation({
  id: 'admin_recomputations_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/recomputations/{id}',
  summary: 'A recomputation: its progress and figures, and some of its users',
  params: Type.Object({ id: Uuid }),
  responses: { 200: RecomputationDetails },
  handle: async ({ catalogs, recomputations }, { tenant, params }) => ({
    status: 200,
    body: await recomputations.get(await catalogs.of(tenant.no), params.id),
  }),
});

export const adminRecomputationsCreate = operation({
  id: 'admin_recomputations_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/recomputations',
  mayConflict: true,
  summary: 'Recompute what users would have under the current rules, from their whole history',
  description: `A job plans, user by user, who would gain and lose what: \`achievements\` by their current conditions, \`points\` by the
current triggers, for everything since the day \`since\`, \`boards\`: scores in runs that are not final, by all of history. Planning changes nothing. The plan is shown by
\`GET /v1/recomputations/{id}\`, and applied, exactly as shown, by \`POST …/apply\`, or at once with \`dryRun: false\`. Nobody has less
afterwards, unless \`mayRevoke\` is true. Of a tenant one is under way at a time: otherwise the answer is 409 and names it.`,
  body: RecomputationRequest,
  knownFields: RecomputationRequest,
  responses: { 202: Recomputation },
  handle: async ({ catalogs, recomputations }, { tenant, by, body }) => ({
    status: 202,
    body: await recomputations.create(await catalogs.of(tenant.no), body, by),
  }),
});

export const adminRecomputationsApply = operation({
  id: 'admin_recomputations_apply',
  surface: 'admin',
  method: 'post',
  path: '/v1/recomputations/{id}/apply',
  mayConflict: true,
  summary: 'Apply a plan exactly as shown',
  description: `Changes each user in one step, exactly once, even after a crash. Points move by the planned difference. An achievement that
changed since the plan stays unchanged. 409 if the recomputation is not planned, or if another one was applied or reverted
since.`,
  params: Type.Object({ id: Uuid }),
  responses: { 202: Recomputation },
  handle: async ({ catalogs, recomputations }, { tenant, by, params }) => ({
    status: 202,
    body: await recomputations.apply(await catalogs.of(tenant.no), params.id, by),
  }),
});

export const adminRecomputationsCancel = operation({
  id: 'admin_recomputations_cancel',
  surface: 'admin',
  method: 'post',
  path: '/v1/recomputations/{id}/cancel',
  mayConflict: true,
  summary: 'End a recomputation that is planned, being planned, or being applied',
  description: `What it has applied so far stays, and can be reverted. 409 if it is not in progress.`,
  params: Type.Object({ id: Uuid }),
  responses: { 202: Recomputation },
  handle: async ({ catalogs, recomputations }, { tenant, by, params }) => ({
    status: 202,
    body: await recomputations.cancel(await catalogs.of(tenant.no), params.id, by),
  }),
});

export const adminRecomputationsRevert = operation({
  id: 'admin_recomputations_revert',
  surface: 'admin',
  method: 'post',
  path: '/v1/recomputations/{id}/revert',
  mayConflict: true,
  summary: 'Revert all changes of a recomputation',
  description: `Points by compensating entries, never below 0; achievements that it completed go, those that it revoked come back
unchanged. 409 where nothing was applied.`,
  params: Type.Object({ id: Uuid }),
  responses: { 202: Recomputation },
  handle: async ({ catalogs, recomputations }, { tenant, by, params }) => ({
    status: 202,
    body: await recomputations.revert(await catalogs.of(tenant.no), params.id, by),
  }),
});
