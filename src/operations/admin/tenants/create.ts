import { Type } from 'typebox';
import { AdminIssue, AdminTenant, CustomerId } from '../../../domain/admin.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { tenantOutcome } from './tenant-answer.ts';

const items = bulkItems(
  Type.Object({
    customerId: CustomerId,
    name: Type.String({ minLength: 1, maxLength: 255 }),
  }),
  AdminTenant,
);
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
      (await tenants.create(good, by)).map(tenantOutcome),
    );
    return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
  },
});
