import { Type } from 'typebox';
import { AdminIssue, CreatedAdminKey } from '../../../domain/admin.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { adminKeyAnswer } from './admin-key-answer.ts';

const items = bulkItems(Type.Object({ name: Type.String({ minLength: 1, maxLength: 255 }) }), CreatedAdminKey);
const Created = Type.Object({ created: Type.Array(CreatedAdminKey), issues: Type.Array(AdminIssue) });

export const adminAdminApiKeysCreate = operation({
  id: 'admin_admin_api_keys_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/admin-api-keys',
  summary: 'Create admin keys; a key is shown this once',
  scope: 'organisation',
  body: items.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Created, 201: Created },
  handle: async ({ adminKeys }, { caller, body }) => {
    const { done, issues } = await items.each(body, async (good) => {
      const names = good.map(({ name }) => name);
      return (await adminKeys.create(names, caller.prefix)).map((made) => ({ ...adminKeyAnswer(made), key: made.key }));
    });
    return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
  },
});
