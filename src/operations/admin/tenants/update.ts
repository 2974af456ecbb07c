import { Type } from 'typebox';
import { AdminIssue, AdminTenant } from '../../../domain/admin.ts';
import type { Created as New } from '../../../domain/fields/field.ts';
import { TENANT } from '../../../domain/fields/organisation.ts';
import { changedFields } from '../../../domain/fields/wire.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { BULK_BODY_BYTES, bulkItems } from '../../bulk.ts';
import { operation } from '../../operation.ts';
import { tenantOutcome } from './tenant-answer.ts';

const items = bulkItems(Type.Object({ id: Uuid, ...changedFields(TENANT) }), AdminTenant);

export const adminTenantsUpdate = operation({
  id: 'admin_tenants_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/tenants',
  summary: 'Rename tenants, or change the IDs that the client gave them',
  scope: 'organisation',
  body: items.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Type.Object({ updated: Type.Array(AdminTenant), issues: Type.Array(AdminIssue) }) },
  handle: async ({ tenants }, { by, body }) => {
    const { done, issues } = await items.each(body, async (sent) => {
      const good = sent as ({ id: string } & Partial<New<typeof TENANT>>)[];
      const changing = good.filter(({ customerId, name }) => customerId !== undefined || name !== undefined);
      const outcomes = (await tenants.update(changing, by)).map(tenantOutcome);
      return good.map((item) => outcomes[changing.indexOf(item)] ?? 'customerId or name is required');
    });
    return { status: 200, body: { updated: done, issues } };
  },
});
