import { Type } from 'typebox';
import { AdminIssue, AdminKey } from '../../../domain/admin.ts';
import { ADMIN_KEY } from '../../../domain/fields/organisation.ts';
import { changedFields } from '../../../domain/fields/wire.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { adminKeyOutcome } from './admin-key-answer.ts';

const items = bulkItems(Type.Object({ id: Uuid, ...changedFields(ADMIN_KEY) }), AdminKey);

export const adminAdminApiKeysUpdate = operation({
  id: 'admin_admin_api_keys_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/admin-api-keys',
  summary:
    'Rename admin keys, change their access, or revoke them for a while; the last active one of full access stays so',
  scope: 'organisation',
  body: items.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Type.Object({ updated: Type.Array(AdminKey), issues: Type.Array(AdminIssue) }) },
  handle: async ({ adminKeys }, { by, body }) => {
    const { done, issues } = await items.each(body, async (good) =>
      (await adminKeys.update(good, by)).map(adminKeyOutcome),
    );
    return { status: 200, body: { updated: done, issues } };
  },
});
