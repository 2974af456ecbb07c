import { Type } from 'typebox';
import { Verification, VerificationDetails } from '../../domain/administration/verification.ts';
import { Uuid } from '../../domain/schemas.ts';
import { operation } from '../operation.ts';

export const adminVerificationsList = operation({
  id: 'admin_verifications_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/verifications',
  summary: 'The latest 100 verifications, newest first; finished ones are kept for 30 days',
  responses: { 200: Type.Array(Verification) },
  handle: async ({ verifications }, { tenant }) => ({ status: 200, body: await verifications.list(tenant.no) }),
});

export const adminVerificationsGet = operation({
  id: 'admin_verifications_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/verifications/{id}',
  summary: 'A verification: its progress, and the differences that it found',
  params: Type.Object({ id: Uuid }),
  responses: { 200: VerificationDetails },
  handle: async ({ verifications }, { tenant, params }) => ({
    status: 200,
    body: await verifications.get(tenant.no, params.id),
  }),
});

export const adminVerificationsCreate = operation({
  id: 'admin_verifications_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/verifications',
  mayConflict: true,
  summary: 'Compare what Redis and Postgres hold of the tenant, key by key',
  description: `A job compares users, leaderboards, points, counters, used idempotency keys and quarantined events in both directions, while
events continue, and changes nothing. It ends when everything is compared, or when it has found 1,000 differences. \`POST /v1/jobs/{id}/cancel\`
cancels it. \`laurel rebuild --shard\` repairs a shard with differences. One verification of a tenant is unfinished at a time: otherwise the
answer is 409.`,
  responses: { 202: Verification },
  handle: async ({ verifications }, { tenant, by }) => ({
    status: 202,
    body: await verifications.create(tenant.no, by),
  }),
});
