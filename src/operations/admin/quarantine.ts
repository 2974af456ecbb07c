import { Type } from 'typebox';
import { type AdminIssue, DeletedResources } from '../../domain/administration/admin.ts';
import {
  QuarantinedEvents,
  QuarantinedIds,
  QuarantineQuery,
  ReleasedEvent,
  ReleasedEvents,
} from '../../domain/administration/quarantine.ts';
import { Uuid } from '../../domain/schemas.ts';
import type { Left } from '../../engine/corrections/quarantine.ts';
import { AppError } from '../../errors.ts';
import { verdict } from '../bulk.ts';
import { operation } from '../operation.ts';

export const adminQuarantineList = operation({
  id: 'admin_quarantine_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/quarantine',
  summary: 'Events that guards hold in quarantine, newest first; with `status`, released or dropped ones',
  query: QuarantineQuery,
  responses: { 200: QuarantinedEvents },
  handle: async ({ quarantine, catalogs }, { tenant, query }) => ({
    status: 200,
    body: await quarantine.list(await catalogs.of(tenant.no), query),
  }),
});

/** The result for a call's single event. Throws 404 if it does not exist, 422 if it stays. */
function oneOf<T>({ done, refused }: Left<T>): T {
  const [only] = done;
  if (only !== undefined) return only;
  const [text = ''] = refused.values();
  throw new AppError(text.startsWith('There is no') ? 'not_found' : 'unprocessable', text);
}

const issuesOf = ({ refused }: Left<unknown>): AdminIssue[] =>
  [...refused].map(([id, text]) => ({ id, ...verdict('error', text) }));

const distinct = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))];

export const adminQuarantineDeleteOne = operation({
  id: 'admin_quarantine_delete_one',
  surface: 'admin',
  method: 'delete',
  path: '/v1/quarantine/{id}',
  summary: 'Drop an event in quarantine: it is never applied',
  params: Type.Object({ id: Uuid }),
  responses: { 200: DeletedResources },
  handle: async ({ quarantine, catalogs }, { tenant, by, params }) => {
    const id = oneOf(await quarantine.drop(await catalogs.of(tenant.no), distinct([params.id]), by));
    return { status: 200, body: { deleted: [{ id }], issues: [] } };
  },
});

export const adminQuarantineDrop = operation({
  id: 'admin_quarantine_drop',
  surface: 'admin',
  method: 'post',
  path: '/v1/quarantine/drop',
  summary: 'Drop up to 1,000 events in quarantine: they are never applied',
  body: QuarantinedIds,
  knownFields: QuarantinedIds,
  responses: { 200: DeletedResources },
  handle: async ({ quarantine, catalogs }, { tenant, by, body }) => {
    const left = await quarantine.drop(await catalogs.of(tenant.no), distinct(body.ids), by);
    return { status: 200, body: { deleted: left.done.map((id) => ({ id })), issues: issuesOf(left) } };
  },
});

export const adminQuarantineReleaseOne = operation({
  id: 'admin_quarantine_release_one',
  surface: 'admin',
  method: 'post',
  path: '/v1/quarantine/{id}/release',
  summary: 'Apply an event in quarantine now; the answer has its effects',
  params: Type.Object({ id: Uuid }),
  responses: { 200: ReleasedEvent },
  handle: async ({ quarantine, catalogs }, { tenant, by, params }) => ({
    status: 200,
    body: oneOf(await quarantine.release(await catalogs.of(tenant.no), distinct([params.id]), by)),
  }),
});

export const adminQuarantineRelease = operation({
  id: 'admin_quarantine_release',
  surface: 'admin',
  method: 'post',
  path: '/v1/quarantine/release',
  summary: 'Apply up to 1,000 events in quarantine now, oldest first',
  body: QuarantinedIds,
  knownFields: QuarantinedIds,
  responses: { 200: ReleasedEvents },
  handle: async ({ quarantine, catalogs }, { tenant, by, body }) => {
    const left = await quarantine.release(await catalogs.of(tenant.no), distinct(body.ids), by);
    return { status: 200, body: { released: left.done, issues: issuesOf(left) } };
  },
});
