import { Type } from 'typebox';
import { AdminIssue, AdminTenant } from '../../../domain/admin.ts';
import type { Created as New } from '../../../domain/fields/field.ts';
import { TENANT } from '../../../domain/fields/organisation.ts';
import { createdFields } from '../../../domain/fields/wire.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { tenantOutcome } from './tenant-answer.ts';

const items = bulkItems(Type.Object(createdFields(TENANT)), AdminTenant);
const Created = Type.Object({ created: Type.Array(AdminTenant), issues: Type.Array(AdminIssue) });

export const adminTenantsCreate = operation({
  id: 'admin_tenants_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/tenants',
  summary: 'Create tenants',
  scope: 'organisation',
  body: items.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Created, 201: Created },
  handle: async ({ tenants }, { by, body }) => {
    const { done, issues } = await items.each(body, async (good) =>
      (await tenants.create(good as New<typeof TENANT>[], by)).map(tenantOutcome),
    );
    return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
  },
});
