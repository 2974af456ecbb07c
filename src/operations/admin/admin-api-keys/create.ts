import { Type } from 'typebox';
import { AdminIssue, CreatedAdminKey } from '../../../domain/admin.ts';
import type { Created as New } from '../../../domain/fields/field.ts';
import { ADMIN_KEY } from '../../../domain/fields/organisation.ts';
import { createdFields } from '../../../domain/fields/wire.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { createdKeyOutcome } from './admin-key-answer.ts';

const items = bulkItems(Type.Object(createdFields(ADMIN_KEY)), CreatedAdminKey);
const Created = Type.Object({ created: Type.Array(CreatedAdminKey), issues: Type.Array(AdminIssue) });

export const adminAdminApiKeysCreate = operation({
  id: 'admin_admin_api_keys_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/admin-api-keys',
  summary: 'Create admin keys, read-only or for one tenant if so asked; a key is shown this once',
  scope: 'organisation',
  body: items.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Created, 201: Created },
  handle: async ({ adminKeys }, { by, body }) => {
    const { done, issues } = await items.each(body, async (good) => {
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
