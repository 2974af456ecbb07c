import { Type } from 'typebox';
import {
  CancelRequest,
  Claim,
  ClaimRequest,
  Claims,
  ClaimsQuery,
  RewardStock,
  UserClaimsQuery,
  UserReward,
} from '../domain/reward.ts';
import { Paging } from '../domain/administration/admin.ts';
import { Uuid } from '../domain/schemas.ts';
import { UserId } from '../domain/user.ts';
import { isClient, operation } from './operation.ts';
import { adminResource } from './resource.ts';

export const rewards = adminResource({
  kind: 'reward',
  noun: 'reward',
  id: 'admin_rewards',
  path: '/v1/rewards',
});

export const rewardsClaim = operation('rewards_claim', 'POST /v1/rewards/{key}/claim', {
  summary: 'Claim a reward for a user, who pays its price',
  description:
    'Needs the header `Idempotency-Key`: a repeated request with the same key gets the same claim, as it is then. ' +
    'Never makes more claims than the stock. 409 `insufficient_balance`, `sold_out` or `claim_limit` if it is refused; then ' +
    'nothing was spent. For users’ keys the reward must allow it (`claimableByUsers`).',
  refusesUnknownQuery: true,
  audited: true,
  idempotent: true,
  mayConflict: true,
  params: Type.Object({ key: Type.String() }),
  body: ClaimRequest,
  knownFields: ClaimRequest,
  responses: { 201: Claim },
  namedUsers: ({ body }) => [body.userId],
  answer: async ({ catalogs, claims }, { caller, tenant, params: { key }, body: { userId }, ...call }) => {
    const keyed = { idempotencyKey: call.idempotencyKey, by: isClient(caller) ? null : call.by, span: call.span };
    return claims.claim(await catalogs.of(tenant.no), userId, key, keyed);
  },
});

export const usersRewards = operation('users_rewards', 'GET /v1/users/{id}/rewards', {
  summary: 'The rewards that can be claimed, oldest first, and which of them a user can afford',
  refusesUnknownQuery: true,
  params: Type.Object({ id: UserId }),
  query: Paging,
  responses: { 200: Type.Array(UserReward) },
  namedUsers: ({ params }) => [params.id],
  answer: async ({ catalogs, claimReads }, { caller, tenant, params, query }) => {
    const page = { ...query, byClient: isClient(caller) };
    return claimReads.offers(await catalogs.of(tenant.no), params.id, page);
  },
});

export const usersClaims = operation('users_claims', 'GET /v1/users/{id}/claims', {
  summary: "A user's claims of rewards, newest first",
  refusesUnknownQuery: true,
  params: Type.Object({ id: UserId }),
  query: UserClaimsQuery,
  responses: { 200: Claims },
  namedUsers: ({ params }) => [params.id],
  answer: async ({ catalogs, claimReads }, { tenant, params, query }) =>
    claimReads.listOf(await catalogs.of(tenant.no), params.id, query),
});

export const adminClaimsList = operation('admin_claims_list', 'GET /v1/claims', {
  summary: 'Claims of rewards, newest first',
  query: ClaimsQuery,
  responses: { 200: Claims },
  answer: async ({ catalogs, claimReads }, { tenant, query }) => claimReads.list(await catalogs.of(tenant.no), query),
});

export const adminAnalyticsRewards = operation('admin_analytics_rewards', 'GET /v1/analytics/rewards', {
  summary: 'How often each reward was claimed, and how many are left',
  responses: { 200: Type.Array(RewardStock) },
  answer: async ({ catalogs, claimReads }, { tenant }) => claimReads.stock(await catalogs.of(tenant.no)),
});

const ONE = Type.Object({ id: Uuid });

export const adminClaimsGet = operation('admin_claims_get', 'GET /v1/claims/{id}', {
  summary: 'One claim of a reward',
  params: ONE,
  responses: { 200: Claim },
  answer: async ({ catalogs, claimReads }, { tenant, params }) =>
    claimReads.get(await catalogs.of(tenant.no), params.id),
});

export const adminClaimsFulfil = operation('admin_claims_fulfil', 'POST /v1/claims/{id}/fulfil', {
  summary: 'Note that the user has got the claimed reward',
  description: 'A repeated request changes nothing. 409 if the claim was cancelled.',
  audited: true,
  mayConflict: true,
  params: ONE,
  responses: { 200: Claim },
  answer: async ({ catalogs, claims }, { tenant, params, by }) =>
    claims.fulfil(await catalogs.of(tenant.no), params.id, by),
});

export const adminClaimsCancel = operation('admin_claims_cancel', 'POST /v1/claims/{id}/cancel', {
  summary: 'Cancel a claim and give back its points',
  description:
    'Gives back the whole price, once, and what was claimed can be claimed again. A repeated request changes nothing. 409 if ' +
    'the claim was fulfilled.',
  audited: true,
  mayConflict: true,
  params: ONE,
  body: CancelRequest,
  isBodyOptional: true,
  knownFields: CancelRequest,
  responses: { 200: Claim },
  answer: async ({ catalogs, claims }, { tenant, params, body, by }) =>
    claims.cancel(await catalogs.of(tenant.no), params.id, { reason: body.reason ?? null, by }),
});
