import { Type } from 'typebox';
import { AdminIssue, AdminTenant, DeletedResources, Ids, Paging } from '../domain/administration/admin.ts';
import type { Created as New } from '../domain/fields/field.ts';
import { TENANT } from '../domain/fields/organisation.ts';
import { changedFields, createdFields } from '../domain/fields/wire.ts';
import { Uuid } from '../domain/schemas.ts';
import { AppError } from '../errors.ts';
import type { TenantRefusal, TenantRow } from '../postgres/tenants.ts';
import { BULK_BODY_BYTES, bulkItems, deleteEach } from './bulk.ts';
import { operation } from './operation.ts';

const tenantAnswer = ({ id, customerId, name, status, created, updated }: TenantRow): AdminTenant => ({
  id,
  customerId,
  name,
  status,
  created: created.toISOString(),
  updated: updated.toISOString(),
});

const REFUSALS: Record<TenantRefusal, string> = {
  taken: 'Another tenant has this customerId',
  unknown: 'There is no tenant with this ID',
};

const tenantOutcome = (outcome: TenantRow | TenantRefusal): AdminTenant | string =>
  typeof outcome === 'string' ? REFUSALS[outcome] : tenantAnswer(outcome);

export const adminTenantsList = operation('admin_tenants_list', 'GET /v1/tenants', {
  summary: 'The active tenants, oldest first',
  scope: 'organisation',
  query: Paging,
  responses: { 200: Type.Array(AdminTenant) },
  answer: async ({ tenants }, { query }) => (await tenants.list(query)).map(tenantAnswer),
});

export const adminTenantsGet = operation('admin_tenants_get', 'GET /v1/tenants/{id}', {
  summary: 'One tenant',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: AdminTenant },
  answer: async ({ tenants }, { params }) => {
    const tenant = await tenants.get(params.id);
    if (tenant === null) throw new AppError('not_found', 'There is no tenant with this ID');
    return tenantAnswer(tenant);
  },
});

const createItems = bulkItems(Type.Object(createdFields(TENANT)), AdminTenant);
const Created = Type.Object({ created: Type.Array(AdminTenant), issues: Type.Array(AdminIssue) });

export const adminTenantsCreate = operation('admin_tenants_create', 'POST /v1/tenants', {
  summary: 'Create tenants',
  scope: 'organisation',
  body: createItems.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Created, 201: Created },
  handle: async ({ tenants }, { by, body }) => {
    const { done, issues } = await createItems.each(body, async (good) =>
      (await tenants.create(good as New<typeof TENANT>[], by)).map(tenantOutcome),
    );
    return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
  },
});

const updateItems = bulkItems(Type.Object({ id: Uuid, ...changedFields(TENANT) }), AdminTenant);

export const adminTenantsUpdate = operation('admin_tenants_update', 'PATCH /v1/tenants', {
  summary: 'Rename tenants, or change their customer IDs',
  scope: 'organisation',
  body: updateItems.body,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: Type.Object({ updated: Type.Array(AdminTenant), issues: Type.Array(AdminIssue) }) },
  answer: async ({ tenants }, { by, body }) => {
    const { done, issues } = await updateItems.each(body, async (sent) => {
      const good = sent as ({ id: string } & Partial<New<typeof TENANT>>)[];
      const changing = good.filter(({ customerId, name }) => customerId !== undefined || name !== undefined);
      const outcomes = (await tenants.update(changing, by)).map(tenantOutcome);
      return good.map((item) => outcomes[changing.indexOf(item)] ?? 'customerId or name is required');
    });
    return { updated: done, issues };
  },
});

export const adminTenantsDelete = operation('admin_tenants_delete', 'DELETE /v1/tenants', {
  summary: 'Archive tenants; their data is kept',
  scope: 'organisation',
  query: Ids,
  responses: { 200: DeletedResources },
  answer: ({ tenants }, { by, query }) =>
    deleteEach(query.ids, { noun: 'tenant', work: (ids) => tenants.delete(ids, by) }),
});
