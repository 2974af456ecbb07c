import { Type } from 'typebox';
import { BalanceChange, HoldRequest, Spendings, SpendingsQuery, SpendRequest } from '../domain/points.ts';
import { Uuid } from '../domain/schemas.ts';
import { UserId } from '../domain/user.ts';
import { AppError } from '../errors.ts';
import { type Call, type Caller, isClient, operation } from './operation.ts';
import type { Services } from '../engine/services.ts';

export const adminUsersSpendings = operation('admin_users_spendings', 'GET /v1/users/{id}/spendings', {
  summary: 'What a user spent of points, newest first, and what became of it',
  params: Type.Object({ id: UserId }),
  query: SpendingsQuery,
  responses: { 200: Spendings },
  answer: async ({ catalogs, spendings, users }, { tenant, params, query }) => {
    await users.state(tenant.no, params.id);
    return spendings.list(await catalogs.of(tenant.no), params.id, query);
  },
});

const PURSE = { id: UserId, key: Type.String() };

const ONCE =
  'Needs the header `Idempotency-Key`: a repeated request with the same key gets the first answer, however late it comes. ' +
  'With another body it is 409. For users’ keys the points system must allow it (`spendableByUsers`).';

const openingOf = (body: typeof SpendRequest | typeof HoldRequest) => ({
  refusesUnknownQuery: true,
  audited: true,
  idempotent: true,
  mayConflict: true,
  params: Type.Object(PURSE),
  body,
  knownFields: body,
  responses: { 201: BalanceChange },
  namedUsers: ({ params }: Opened) => [params.id],
  answer: async ({ catalogs, spendings }: Services, { caller, tenant, params, body, ...call }: Opened) => {
    const keyed = { idempotencyKey: call.idempotencyKey, by: isClient(caller) ? null : call.by, span: call.span };
    const purse = { userId: params.id, key: params.key };
    return spendings.open(await catalogs.of(tenant.no), purse, body, keyed);
  },
});
type Opened = Call<{ id: string; key: string }, unknown, SpendRequest | HoldRequest>;

export const spendingsSpend = operation('spendings_spend', 'POST /v1/users/{id}/points/{key}/spend', {
  summary: 'Spend points of a user',
  description: `Lowers the balance, never below zero: 409 with the balance if it does not suffice. The total, which levels and leaderboards count, stays. ${ONCE}`,
  ...openingOf(SpendRequest),
});

export const spendingsHold = operation('spendings_hold', 'POST /v1/users/{id}/points/{key}/hold', {
  summary: 'Hold points of a user until they are captured or released',
  description: `Held points cannot be spent otherwise. The hold ends by itself after \`expiresIn\` seconds. ${ONCE}`,
  ...openingOf(HoldRequest),
});

/** Users could give themselves back what they paid with. */
function refuseClient(caller: Caller): void {
  if (isClient(caller))
    throw new AppError('forbidden', 'Only admin keys may capture and release holds and refund spendings.');
}

const closingOf = (how: 'capture' | 'release') => ({
  refusesUnknownQuery: true,
  audited: true,
  description:
    'For admin keys. A repeated request gets the first answer. 409 if the hold was closed otherwise or has expired.',
  mayConflict: true,
  params: Type.Object({ ...PURSE, holdId: Uuid }),
  responses: { 200: BalanceChange },
  namedUsers: ({ params }: Closed) => [params.id],
  answer: async ({ catalogs, spendings }: Services, { caller, tenant, params, by, span }: Closed) => {
    refuseClient(caller);
    const { id: userId, key, holdId: id } = params;
    return spendings.close(await catalogs.of(tenant.no), { userId, key }, { how, id, by, span });
  },
});
type Closed = Call<{ id: string; key: string; holdId: string }, unknown, unknown>;

export const spendingsCapture = operation(
  'spendings_capture',
  'POST /v1/users/{id}/points/{key}/holds/{holdId}/capture',
  {
    summary: 'Spend the points of a hold',
    ...closingOf('capture'),
  },
);

export const spendingsRelease = operation(
  'spendings_release',
  'POST /v1/users/{id}/points/{key}/holds/{holdId}/release',
  {
    summary: 'Give back the points of a hold',
    ...closingOf('release'),
  },
);

export const spendingsRefund = operation(
  'spendings_refund',
  'POST /v1/users/{id}/points/{key}/spendings/{spendingId}/refund',
  {
    refusesUnknownQuery: true,
    audited: true,
    summary: 'Give back the points of a spending',
    description:
      'For admin keys. Gives back the whole amount, once: a repeated request gets the first answer. A captured hold is a spending, too.',
    mayConflict: true,
    params: Type.Object({ ...PURSE, spendingId: Uuid }),
    responses: { 200: BalanceChange },
    namedUsers: ({ params }) => [params.id],
    answer: async ({ catalogs, spendings }, { caller, tenant, params: { id: userId, key, spendingId }, by, span }) => {
      refuseClient(caller);
      const refund = { id: spendingId, by, span };
      return spendings.refund(await catalogs.of(tenant.no), { userId, key }, refund);
    },
  },
);
