import { type Static, Type } from 'typebox';
import {
  AdminIssue,
  AdminKey,
  ApplicationKey,
  CreatedAdminKey,
  CreatedApplicationKey,
  DeletedResources,
  Ids,
  Paging,
} from '../domain/administration/admin.ts';
import type { Created as New } from '../domain/fields/field.ts';
import { ADMIN_KEY, APPLICATION_KEY } from '../domain/fields/organisation.ts';
import { changedFields, createdFields } from '../domain/fields/wire.ts';
import { Nullable, Uuid } from '../domain/schemas.ts';
import { UserId } from '../domain/user.ts';
import { AppError } from '../errors.ts';
import type {
  AdminKeyRefusal,
  AdminKeyRow,
  CreatedAdminKey as CreatedAdminKeyRow,
} from '../postgres/access/admin-keys.ts';
import type {
  ApplicationKeyRow,
  CreatedApplicationKey as CreatedApplicationKeyRow,
  WantedApplicationKey,
} from '../postgres/access/application-keys.ts';
import { picked } from '../picked.ts';
import type { SessionKey } from '../postgres/access/sessions.ts';
import { BULK_BODY_BYTES, bulkItems, deleteEach, refuseAny, Strict } from './bulk.ts';
import { operation } from './operation.ts';
import type { Services } from '../engine/services.ts';

const adminKeyAnswer = ({ id, prefix, name, status, access, tenantId, created, lastUsed }: AdminKeyRow): AdminKey => ({
  id,
  prefix,
  name,
  status,
  access,
  tenantId,
  created: created.toISOString(),
  lastUsed: lastUsed === null ? null : lastUsed.toISOString(),
});

/** Why the last key that can create others must stay. */
const LAST_KEY = 'This is the last active admin key with full access: create or activate another one first';

const REFUSALS: Record<AdminKeyRefusal, string> = {
  unknown: 'There is no admin key with this ID',
  'no tenant': 'tenantId: there is no active tenant with this ID',
  last: LAST_KEY,
};

const adminKeyOutcome = (outcome: AdminKeyRow | AdminKeyRefusal): AdminKey | string =>
  typeof outcome === 'string' ? REFUSALS[outcome] : adminKeyAnswer(outcome);

const createdKeyOutcome = (outcome: CreatedAdminKeyRow | AdminKeyRefusal): CreatedAdminKey | string =>
  typeof outcome === 'string' ? REFUSALS[outcome] : { ...adminKeyAnswer(outcome), key: outcome.key };

export const adminAdminApiKeysList = operation('admin_admin_api_keys_list', 'GET /v1/admin-api-keys', {
  summary: 'The admin keys, oldest first, without their secrets',
  scope: 'organisation',
  query: Paging,
  responses: { 200: Type.Array(AdminKey) },
  answer: async ({ adminKeys }, { query }) => (await adminKeys.list(query)).map(adminKeyAnswer),
});

const createItems = bulkItems(Type.Object(createdFields(ADMIN_KEY)), CreatedAdminKey);
const CreatedAdminKeys = Type.Object({ created: Type.Array(CreatedAdminKey), issues: Type.Array(AdminIssue) });

export const adminAdminApiKeysCreate = operation('admin_admin_api_keys_create', 'POST /v1/admin-api-keys', {
  summary: 'Create admin keys, optionally read-only or for one tenant; a key is shown only once',
  scope: 'organisation',
  body: createItems.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: CreatedAdminKeys, 201: CreatedAdminKeys },
  handle: async ({ adminKeys }, { by, body }) => {
    const { done, issues } = await createItems.each(body, async (good) => {
      const requests = (good as New<typeof ADMIN_KEY>[]).map(({ name, access = 'full', tenantId = null }) => ({
        name,
        access,
        tenantId,
      }));
      return (await adminKeys.create(requests, by)).map(createdKeyOutcome);
    });
    return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
  },
});

const updateItems = bulkItems(Type.Object({ id: Uuid, ...changedFields(ADMIN_KEY) }), AdminKey);

export const adminAdminApiKeysUpdate = operation('admin_admin_api_keys_update', 'PATCH /v1/admin-api-keys', {
  summary:
    'Rename admin keys, change their access, or deactivate them; the last active one with full access stays unchanged',
  scope: 'organisation',
  body: updateItems.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Type.Object({ updated: Type.Array(AdminKey), issues: Type.Array(AdminIssue) }) },
  answer: async ({ adminKeys }, { by, body }) => {
    const { done, issues } = await updateItems.each(body, async (good) =>
      (await adminKeys.update(good, by)).map(adminKeyOutcome),
    );
    return { updated: done, issues };
  },
});

export const adminAdminApiKeysDelete = operation('admin_admin_api_keys_delete', 'DELETE /v1/admin-api-keys', {
  summary: 'Delete admin keys; they are refused from now on. The last active one stays',
  scope: 'organisation',
  query: Ids,
  responses: { 200: DeletedResources },
  answer: async ({ adminKeys }, { by, query }) => {
    const work = async (ids: string[]) => {
      const { deleted, last } = await adminKeys.delete(ids, by);
      return { deleted, refused: new Map(last.map((id) => [id, LAST_KEY])) };
    };
    return deleteEach(query.ids, { noun: 'admin key', work });
  },
});

export const adminAdminApiKeysRotate = operation('admin_admin_api_keys_rotate', 'POST /v1/admin-api-keys/{id}/rotate', {
  summary: 'Give an admin key a new secret, shown only once; the old one is refused from now on',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: CreatedAdminKey },
  answer: async ({ adminKeys }, { by, params }) => {
    const rotated = await adminKeys.rotate(params.id, by);
    if (rotated === null) throw new AppError('not_found', 'There is no admin key with this ID');
    return { ...adminKeyAnswer(rotated), key: rotated.key };
  },
});

/** A new key with its secret. Scope, expiry and limit are included unless they have their defaults. */
const createdKeyAnswer = (created: CreatedApplicationKeyRow): CreatedApplicationKey => {
  const { scope, expiresMs, rateLimit } = created;
  return {
    ...picked(created, ['id', 'userId', 'key', 'prefix']),
    ...(scope !== 'all' && { scope }),
    ...(expiresMs !== null && { expiresAt: new Date(expiresMs).toISOString() }),
    ...(rateLimit !== null && { rateLimit }),
  };
};

const applicationKeyAnswer = ({ expires, created, lastUsed, ...key }: ApplicationKeyRow): ApplicationKey => ({
  ...key,
  expiresAt: expires?.toISOString() ?? null,
  created: created.toISOString(),
  lastUsed: lastUsed?.toISOString() ?? null,
});

export const adminApplicationApiKeysList = operation(
  'admin_application_api_keys_list',
  'GET /v1/application-api-keys',
  {
    summary: 'The application keys, oldest first, or those of one user; without their secrets',
    query: Type.Object({ ...Paging.properties, userId: Type.Optional(UserId) }),
    responses: { 200: Type.Array(ApplicationKey) },
    answer: async ({ applicationKeys }, { tenant, query }) =>
      (await applicationKeys.list(tenant.no, query)).map(applicationKeyAnswer),
  },
);

const items = bulkItems(Type.Object(createdFields(APPLICATION_KEY)), CreatedApplicationKey);
const CreatedApplicationKeys = Type.Object({
  created: Type.Array(CreatedApplicationKey),
  issues: Type.Array(AdminIssue),
});

function requestsOf(
  { userId, scope, expiresAt, rateLimit }: New<typeof APPLICATION_KEY>,
  nowMs: number,
): WantedApplicationKey | string {
  const expiresMs = typeof expiresAt === 'string' ? Date.parse(expiresAt) : null;
  // A leap second matches the format but not JavaScript's clock.
  if (expiresMs !== null && !(expiresMs > nowMs)) return 'expiresAt must be in the future';
  return { userId, scope: scope ?? 'all', expiresMs, rateLimit: rateLimit ?? null };
}

export const adminApplicationApiKeysCreate = operation(
  'admin_application_api_keys_create',
  'POST /v1/application-api-keys',
  {
    summary: 'Create keys for one user each, optionally with an expiry, a scope or a limit; a key is shown only once',
    query: Strict,
    body: items.body,
    bodyBytes: BULK_BODY_BYTES,
    responses: { 200: CreatedApplicationKeys, 201: CreatedApplicationKeys },
    handle: async ({ applicationKeys, clock }, { tenant, by, query: { strict }, body }) => {
      const create = async (good: object[]): Promise<(CreatedApplicationKey | string)[]> => {
        const outcomes = (good as New<typeof APPLICATION_KEY>[]).map((item) => requestsOf(item, clock.now()));
        if (strict) refuseAny(outcomes);
        const valid = outcomes.filter((outcome) => typeof outcome !== 'string');
        const created = (await applicationKeys.create(tenant.no, valid, by)).values();
        return outcomes.map((outcome) =>
          typeof outcome === 'string' ? outcome : createdKeyAnswer(created.next().value!),
        );
      };
      const { done, issues } = await items.each(body, create, strict);
      return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
    },
  },
);

export const adminApplicationApiKeysDelete = operation(
  'admin_application_api_keys_delete',
  'DELETE /v1/application-api-keys',
  {
    summary: 'Delete application keys; they are refused from now on',
    query: Ids,
    responses: { 200: DeletedResources },
    answer: ({ applicationKeys }, { tenant, by, query }) =>
      deleteEach(query.ids, {
        noun: 'application key',
        work: (ids) => applicationKeys.delete(tenant.no, ids, by),
      }),
  },
);

/** A session, or a key sent without one, and its rights. */
const AdminSession = Type.Object({
  prefix: AdminKey.properties.prefix,
  name: AdminKey.properties.name,
  access: Type.Enum(['full', 'read']),
  tenantId: Nullable(Type.String()),
  expiresAt: Nullable(Type.String({ format: 'date-time' })),
  csrfToken: Nullable(Type.String()),
  now: Type.String({ format: 'date-time' }),
  testClock: Type.Boolean({
    description: 'Whether the Admin API can set the time, so that `now` may not be the real time.',
  }),
});
type AdminSession = Static<typeof AdminSession>;

/** `session`: omitted if the key itself was sent. */
const sessionAnswer = (
  { clock, testClock }: Pick<Services, 'clock' | 'testClock'>,
  key: SessionKey,
  session?: { expiresMs: number; csrfToken: string },
): AdminSession => ({
  ...key,
  expiresAt: session === undefined ? null : new Date(session.expiresMs).toISOString(),
  csrfToken: session?.csrfToken ?? null,
  now: new Date(clock.now()).toISOString(),
  testClock: testClock !== null,
});

export const adminSessionGet = operation('admin_session_get', 'GET /v1/session', {
  summary: 'The key that the request was made with, and the session that stands for it',
  scope: 'key',
  responses: { 200: AdminSession },
  answer: async (services, { caller }) => {
    const key = await services.sessions.keyOf(caller.prefix);
    if (key === null) throw new AppError('unauthorized', 'The API key is missing or not valid');
    return sessionAnswer(services, key, caller.session);
  },
});

export const adminSessionCreate = operation('admin_session_create', 'POST /v1/session', {
  summary: 'Sign in to the console, with an admin key or with the token of the link that a start prints',
  description:
    'The answer sets a cookie that stands for the key, for 12 hours or until the key is revoked, rotated or deleted. ' +
    'Requests with the cookie need no key; those that may change something need `csrfToken` in the header `X-CSRF-Token`.',
  scope: 'public',
  signsIn: true,
  body: Type.Object({
    key: Type.Optional(Type.String({ maxLength: 512 })),
    token: Type.Optional(Type.String({ maxLength: 512 })),
  }),
  responses: { 201: AdminSession },
  handle: async (services, { by, body: { key, token } }) => {
    if ((key === undefined) === (token === undefined))
      throw new AppError('invalid', 'Body must have either key or token');
    const { sessions } = services;
    const session = await sessions.begin(key === undefined ? { token: token! } : { key }, by);
    const of = session && (await sessions.keyOf(session.prefix));
    if (session === null || of === null)
      throw new AppError(
        'invalid_key',
        key === undefined ? 'The link was already used, or has expired' : 'Invalid or inactive admin key',
      );
    return { status: 201, body: sessionAnswer(services, of, session), session };
  },
});

export const adminSessionDelete = operation('admin_session_delete', 'DELETE /v1/session', {
  summary: 'Sign out: the session ends in every process; without a session nothing changes',
  scope: 'key',
  keyScopes: ['read'],
  responses: { 204: null },
  handle: async ({ sessions }, { by, caller }) => {
    if (caller.session !== undefined) await sessions.end(caller.session.hash, by);
    return { status: 204, body: undefined, session: null };
  },
});
