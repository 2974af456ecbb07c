import { Type } from 'typebox';
import { AdminIssue, CreatedApplicationKey } from '../../../domain/admin.ts';
import { UserId } from '../../../domain/user.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';

const items = bulkItems(Type.Object({ userId: UserId }), CreatedApplicationKey);
const Created = Type.Object({ created: Type.Array(CreatedApplicationKey), issues: Type.Array(AdminIssue) });

export const adminApplicationApiKeysCreate = operation({
  id: 'admin_application_api_keys_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/application-api-keys',
  summary: 'Create keys that stand for one user each; a key is shown this once',
  body: items.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Created, 201: Created },
  handle: async ({ applicationKeys }, { tenant, caller, body }) => {
    const userIds = (good: { userId: string }[]): string[] => good.map(({ userId }) => userId);
    const { done, issues } = await items.each(body, (good) =>
      applicationKeys.create(tenant.no, userIds(good), caller.prefix),
    );
    return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
  },
});
