import { Recomputation, RecomputationRequest } from '../../../domain/recomputation.ts';
import { operation } from '../../operation.ts';

export const adminRecomputationsCreate = operation({
  id: 'admin_recomputations_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/recomputations',
  mayConflict: true,
  summary: 'Compute again what users would have by the rules of now, from all of their history',
  description: `A job plans, user by user, who would gain and lose what: \`achievements\` by their conditions of now, \`points\` by the
triggers of now, for what happened \`since\` a day, \`boards\`: scores in runs that are not final, by all of history. Nothing is changed by that. The plan is shown by
\`GET /v1/recomputations/{id}\`, and applied, exactly as it is, by \`POST …/apply\`, or at once with \`dryRun: false\`. Nobody has less
afterwards, unless \`mayRevoke\` is true. Of a tenant one is under way at a time: otherwise the answer is 409 and names it.`,
  body: RecomputationRequest,
  knownFields: RecomputationRequest,
  responses: { 202: Recomputation },
  handle: async ({ catalogs, recomputations }, { tenant, by, body }) => ({
    status: 202,
    body: await recomputations.create(await catalogs.of(tenant.no), body, by),
  }),
});
