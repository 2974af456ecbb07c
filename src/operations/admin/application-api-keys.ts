import { Type } from 'typebox';
import {
  AdminIssue,
  ApplicationKey,
  CreatedApplicationKey,
  DeletedResources,
  Ids,
  Paging,
} from '../../domain/administration/admin.ts';
import type { Created as New } from '../../domain/fields/field.ts';
import { APPLICATION_KEY } from '../../domain/fields/organisation.ts';
import { createdFields } from '../../domain/fields/wire.ts';
import { UserId } from '../../domain/user.ts';
import type {
  ApplicationKeyRow,
  CreatedApplicationKey as CreatedApplicationKeyRow,
  WantedApplicationKey,
} from '../../postgres/access/application-keys.ts';
import { BULK_BODY_BYTES, bulkItems, deleteEach } from '../bulk.ts';
import { operation } from '../operation.ts';

/** A key that was made now, with its secret; scope, end and limit are named where they are not those of any key. */
const createdKeyAnswer = ({
  id,
  userId,
  key,
  prefix,
  scope,
  expiresMs,
  rateLimit,
}: CreatedApplicationKeyRow): CreatedApplicationKey => ({
  id,
  userId,
  key,
  prefix,
  ...(scope !== 'all' && { scope }),
  ...(expiresMs !== null && { expiresAt: new Date(expiresMs).toISOString() }),
  ...(rateLimit !== null && { rateLimit }),
});

/** A key as it is listed: without its secret. */
const applicationKeyAnswer = ({ expires, created, lastUsed, ...key }: ApplicationKeyRow): ApplicationKey => ({
  ...key,
  expiresAt: expires?.toISOString() ?? null,
  created: created.toISOString(),
  lastUsed: lastUsed?.toISOString() ?? null,
});

export const adminApplicationApiKeysList = operation({
  id: 'admin_application_api_keys_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/application-api-keys',
  summary: 'The application keys, oldest first, or those of one user; without their secrets',
  query: Type.Object({ ...Paging.properties, userId: Type.Optional(UserId) }),
  responses: { 200: Type.Array(ApplicationKey) },
  handle: async ({ applicationKeys }, { tenant, query }) => ({
    status: 200,
    body: (await applicationKeys.list(tenant.no, query)).map(applicationKeyAnswer),
  }),
});

const items = bulkItems(Type.Object(createdFields(APPLICATION_KEY)), CreatedApplicationKey);
const Created = Type.Object({ created: Type.Array(CreatedApplicationKey), issues: Type.Array(AdminIssue) });

/** What is asked for, or why it cannot be. */
function wanted(
  { userId, scope, expiresAt, rateLimit }: New<typeof APPLICATION_KEY>,
  nowMs: number,
): WantedApplicationKey | string {
  const expiresMs = typeof expiresAt === 'string' ? Date.parse(expiresAt) : null;
  // A leap second is a date-time of the format, and none of a computer's.
  if (expiresMs !== null && !(expiresMs > nowMs)) return 'expiresAt must be in the future';
  return { userId, scope: scope ?? 'all', expiresMs, rateLimit: rateLimit ?? null };
}

export const adminApplicationApiKeysCreate = operation({
  id: 'admin_application_api_keys_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/application-api-keys',
  summary:
    'Create keys that stand for one user each, for a time, a scope or a limit if so asked; a key is shown this once',
  body: items.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Created, 201: Created },
  handle: async ({ applicationKeys, clock }, { tenant, by, body }) => {
    const { done, issues } = await items.each(body, async (good) => {
      const outcomes = (good as New<typeof APPLICATION_KEY>[]).map((item) => wanted(item, clock.now()));
      const asked = outcomes.filter((outcome) => typeof outcome !== 'string');
      const made = (await applicationKeys.create(tenant.no, asked, by)).values();
      return outcomes.map((outcome) => (typeof outcome === 'string' ? outcome : createdKeyAnswer(made.next().value!)));
    });
    return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
  },
});

export const adminApplicationApiKeysDelete = operation({
  id: 'admin_application_api_keys_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/application-api-keys',
  summary: 'Delete application keys; they hold nowhere from now on',
  query: Ids,
  responses: { 200: DeletedResources },
  handle: async ({ applicationKeys }, { tenant, by, query }) => ({
    status: 200,
    body: await deleteEach(query.ids, {
      noun: 'application key',
      work: (ids) => applicationKeys.delete(tenant.no, ids, by),
    }),
  }),
});
