import { Type } from 'typebox';
import {
  AdminIssue,
  AdminKey,
  CreatedAdminKey,
  DeletedResources,
  Ids,
  Paging,
} from '../../domain/administration/admin.ts';
import type { Created as New } from '../../domain/fields/field.ts';
import { ADMIN_KEY } from '../../domain/fields/organisation.ts';
import { changedFields, createdFields } from '../../domain/fields/wire.ts';
import { Uuid } from '../../domain/schemas.ts';
import { AppError } from '../../errors.ts';
import type { AdminKeyRow } from '../../postgres/access/admin-key-rows.ts';
import type { AdminKeyRefusal, CreatedAdminKey as CreatedAdminKeyRow } from '../../postgres/access/admin-keys.ts';
import { BULK_BODY_BYTES, bulkItems, deleteEach } from '../bulk.ts';
import { operation } from '../operation.ts';

/** An admin key as the operations show it. */
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

/** Why the last key that can make others stays. */
const LAST_KEY = 'This is the last active admin key of full access: create or activate another one first';

const REFUSALS: Record<AdminKeyRefusal, string> = {
  unknown: 'There is no admin key with this ID',
  'no tenant': 'tenantId: there is no active tenant with this ID',
  last: LAST_KEY,
};

/** The same, or why nothing was done. */
const adminKeyOutcome = (outcome: AdminKeyRow | AdminKeyRefusal): AdminKey | string =>
  typeof outcome === 'string' ? REFUSALS[outcome] : adminKeyAnswer(outcome);

/** The same of a key that was made now, with its secret. */
const createdKeyOutcome = (outcome: CreatedAdminKeyRow | AdminKeyRefusal): CreatedAdminKey | string =>
  typeof outcome === 'string' ? REFUSALS[outcome] : { ...adminKeyAnswer(outcome), key: outcome.key };

export const adminAdminApiKeysList = operation({
  id: 'admin_admin_api_keys_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/admin-api-keys',
  summary: 'The admin keys, oldest first, without their secrets',
  scope: 'organisation',
  query: Paging,
  responses: { 200: Type.Array(AdminKey) },
  handle: async ({ adminKeys }, { query }) => ({
    status: 200,
    body: (await adminKeys.list(query)).map(adminKeyAnswer),
  }),
});

const createItems = bulkItems(Type.Object(createdFields(ADMIN_KEY)), CreatedAdminKey);
const Created = Type.Object({ created: Type.Array(CreatedAdminKey), issues: Type.Array(AdminIssue) });

export const adminAdminApiKeysCreate = operation({
  id: 'admin_admin_api_keys_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/admin-api-keys',
  summary: 'Create admin keys, read-only or for one tenant if so asked; a key is shown this once',
  scope: 'organisation',
  body: createItems.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Created, 201: Created },
  handle: async ({ adminKeys }, { by, body }) => {
    const { done, issues } = await createItems.each(body, async (good) => {
      const wanted = (good as New<typeof ADMIN_KEY>[]).map(({ name, access = 'full', tenantId = null }) => ({
        name,
        access,
        tenantId,
      }));
      return (await adminKeys.create(wanted, by)).map(createdKeyOutcome);
    });
    return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
  },
});

const updateItems = bulkItems(Type.Object({ id: Uuid, ...changedFields(ADMIN_KEY) }), AdminKey);

export const adminAdminApiKeysUpdate = operation({
  id: 'admin_admin_api_keys_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/admin-api-keys',
  summary:
    'Rename admin keys, change their access, or revoke them for a while; the last active one of full access stays so',
  scope: 'organisation',
  body: updateItems.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Type.Object({ updated: Type.Array(AdminKey), issues: Type.Array(AdminIssue) }) },
  handle: async ({ adminKeys }, { by, body }) => {
    const { done, issues } = await updateItems.each(body, async (good) =>
      (await adminKeys.update(good, by)).map(adminKeyOutcome),
    );
    return { status: 200, body: { updated: done, issues } };
  },
});

export const adminAdminApiKeysDelete = operation({
  id: 'admin_admin_api_keys_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/admin-api-keys',
  summary: 'Delete admin keys; they hold nowhere from now on, and the last active one stays',
  scope: 'organisation',
  query: Ids,
  responses: { 200: DeletedResources },
  handle: async ({ adminKeys }, { by, query }) => {
    const work = async (ids: string[]) => {
      const { deleted, last } = await adminKeys.delete(ids, by);
      return { deleted, refused: new Map(last.map((id) => [id, LAST_KEY])) };
    };
    return { status: 200, body: await deleteEach(query.ids, { noun: 'admin key', work }) };
  },
});

export const adminAdminApiKeysRotate = operation({
  id: 'admin_admin_api_keys_rotate',
  surface: 'admin',
  method: 'post',
  path: '/v1/admin-api-keys/{id}/rotate',
  summary: 'Give an admin key another secret, shown this once; the old one holds nowhere from now on',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: CreatedAdminKey },
  handle: async ({ adminKeys }, { by, params }) => {
    const rotated = await adminKeys.rotate(params.id, by);
    if (rotated === null) throw new AppError('not_found', 'There is no admin key with this ID');
    return { status: 200, body: { ...adminKeyAnswer(rotated), key: rotated.key } };
  },
});
