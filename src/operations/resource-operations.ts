import { Type } from 'typebox';
import { AdminIssue, DeletedResources, Paging } from '../domain/administration/admin.ts';
import { Uuid } from '../domain/schemas.ts';
import { DAY_MS } from '../domain/periods.ts';
import { AppError } from '../errors.ts';
import type { Kind } from '../domain/kinds.ts';
import { BULK_BODY_BYTES, bulkItems, deleteEach, type Deletion } from './bulk.ts';
import { operation, type Operation } from './operation.ts';
import type { AdminResource } from './resource.ts';
import { among, createEach, deleteThose, unknown, updateEach } from './resource-edit.ts';

const List = Type.Object({ systemId: Type.Optional(Uuid) });
const One = Type.Object({ systemId: Type.Optional(Uuid), id: Uuid });

const SURFACE = { surface: 'admin' } as const;

/** The five operations of a resource: `<id>_list`, `_get`, `_create`, `_update` and `_delete`. */
export const resourceOperations = <K extends Kind>(
  resource: AdminResource<K>,
  { create }: { create?: Operation } = {},
): Operation[] => [
  listOperation(resource),
  getOperation(resource),
  create ?? createOperation(resource),
  updateOperation(resource),
  deleteOperation(resource),
];

/** Oldest first. */
const listOperation = <K extends Kind>(resource: AdminResource<K>): Operation =>
  operation({
    ...SURFACE,
    id: `${resource.id}_list`,
    method: 'get',
    path: resource.path,
    summary: `List: every ${resource.noun}, oldest first`,
    params: List,
    query: Paging,
    responses: { 200: Type.Array(resource.answer) },
    handle: async ({ resources, clock }, { tenant, params, query: { skip, limit } }) => {
      const catalog = await resources.read(tenant.no);
      const at = { catalog, utcDay: Math.floor(clock.now() / DAY_MS) };
      const all = among(catalog, resource, params.systemId);
      return { status: 200, body: all.slice(skip, skip + limit).map((one) => resource.show(one, at)) };
    },
  });

const getOperation = <K extends Kind>(resource: AdminResource<K>): Operation =>
  operation({
    ...SURFACE,
    id: `${resource.id}_get`,
    method: 'get',
    path: `${resource.path}/{id}`,
    summary: `Get: one ${resource.noun}`,
    params: One,
    responses: { 200: resource.answer },
    handle: async ({ resources, clock }, { tenant, params }) => {
      const catalog = await resources.read(tenant.no);
      const all = among(catalog, resource, params.systemId);
      const found = all.find(({ id }) => id === params.id.toLowerCase());
      if (found === undefined) throw new AppError('not_found', unknown(resource));
      return { status: 200, body: resource.show(found, { catalog, utcDay: Math.floor(clock.now() / DAY_MS) }) };
    },
  });

/** 201 if at least one was created, else 200. */
function createOperation<K extends Kind>(resource: AdminResource<K>): Operation {
  const items = bulkItems(resource.create, resource.known);
  const Created = Type.Object({ created: Type.Array(resource.created), issues: Type.Array(AdminIssue) });
  return operation({
    ...SURFACE,
    id: `${resource.id}_create`,
    method: 'post',
    path: resource.path,
    summary: `Create: each item is a new ${resource.noun}`,
    ...(resource.limits !== null && { description: resource.limits }),
    params: List,
    body: items.body,
    bodyBytes: BULK_BODY_BYTES,
    responses: { 200: Created, 201: Created },
    handle: async ({ resources }, { tenant, by, params: { systemId }, body }) => {
      if (resource.ofSystem) among(await resources.read(tenant.no), resource, systemId);
      const { done, issues } = await items.each(body, async (good) => {
        const work = { items: good, systemId };
        return (await resources.edit(tenant.no, by, (draft) => createEach(draft, resource, work))).result;
      });
      return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
    },
  });
}

function updateOperation<K extends Kind>(resource: AdminResource<K>): Operation {
  const items = bulkItems(resource.update, resource.known);
  return operation({
    ...SURFACE,
    id: `${resource.id}_update`,
    method: 'patch',
    path: resource.path,
    summary: `Update: each item changes the named fields of one ${resource.noun}`,
    ...(resource.limits !== null && { description: resource.limits }),
    params: List,
    body: items.body,
    bodyBytes: BULK_BODY_BYTES,
    responses: { 200: Type.Object({ updated: Type.Array(resource.answer), issues: Type.Array(AdminIssue) }) },
    handle: async ({ resources }, { tenant, by, params: { systemId }, body }) => {
      if (resource.ofSystem) among(await resources.read(tenant.no), resource, systemId);
      const { done, issues } = await items.each(body, async (good) => {
        const work = { items: good as { id: string }[], systemId };
        return (await resources.edit(tenant.no, by, (draft) => updateEach(draft, resource, work))).result;
      });
      return { status: 200, body: { updated: done, issues: named(resource, issues) } };
    },
  });
}

const deleteOperation = <K extends Kind>(resource: AdminResource<K>): Operation =>
  operation({
    ...SURFACE,
    id: `${resource.id}_delete`,
    method: 'delete',
    path: resource.path,
    summary: `Delete: each ${resource.noun} that nothing refers to; history keeps its name`,
    params: List,
    query: resource.ids,
    responses: { 200: DeletedResources },
    handle: async ({ resources }, { tenant, by, params: { systemId }, query }) => {
      const work = async (ids: string[]): Promise<Deletion> => {
        const { result } = await resources.edit(tenant.no, by, (draft) =>
          deleteThose(draft, resource, { ids, systemId }),
        );
        return result;
      };
      const { deleted, issues } = await deleteEach(query.ids, { noun: resource.noun, work });
      return { status: 200, body: { deleted, issues: named(resource, issues) } };
    },
  });

/** Issues of some resources have another field with the ID. */
const named = ({ issueId }: { issueId: string | null }, issues: AdminIssue[]): AdminIssue[] =>
  issueId === null ? issues : issues.map((one) => (one.id === undefined ? one : { ...one, [issueId]: one.id }));
