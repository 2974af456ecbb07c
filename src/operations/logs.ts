import { Type } from 'typebox';
import { systemClock } from '../clock.ts';
import { Paging } from '../domain/administration/admin.ts';
import { AUDIT_ACTIONS } from '../domain/administration/audit.ts';
import type { Fields } from '../domain/fields/field.ts';
import { FIELDS } from '../domain/fields/kinds.ts';
import { forReaders } from '../domain/fields/wire.ts';
import type { Kind } from '../domain/kinds.ts';
import { ShownRequest } from '../domain/recent-request.ts';
import { Nullable, Uuid } from '../domain/schemas.ts';
import { UserId } from '../domain/user.ts';
import { operation } from './operation.ts';

const AuditEntry = Type.Object({
  at: Type.String({ format: 'date-time' }),
  /** The readable part of the author's key; `first start` for Laurel's own setup. */
  who: Type.String(),
  /** The client's address, and the request's `X-Request-Id`. */
  address: Nullable(Type.String()),
  requestId: Nullable(Type.String()),
  action: Type.Enum([...AUDIT_ACTIONS]),
  kind: Type.String(),
  resourceId: Nullable(Type.String()),
  name: Nullable(Type.String()),
  userId: Nullable(Type.String()),
  /** Version of the catalog that the change created. */
  version: Nullable(Type.Integer()),
  /** Set on updates: the previous and new values of the changed fields. */
  before: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  after: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

export const adminAuditLogList = operation('admin_audit_log_list', 'GET /v1/audit-log', {
  summary: "Who changed what of the tenant's configuration, keys and users, and of the organisation; newest first",
  description:
    'Also lists actions that change nothing: calls of assistants, exports of users and refused keys. `changes=true` omits them, and who signed in or out of the console.',
  query: Type.Object({
    ...Paging.properties,
    kind: Type.Optional(Type.String({ maxLength: 64 })),
    resourceId: Type.Optional(Uuid),
    who: Type.Optional(Type.String({ maxLength: 64 })),
    userId: Type.Optional(UserId),
    changes: Type.Boolean({ default: false }),
  }),
  responses: { 200: Type.Array(AuditEntry) },
  answer: async ({ audit }, { tenant, caller, query: { changes, ...query } }) =>
    (
      await audit.read({ ...query, onlyChanges: changes, tenantNo: tenant.no, onlyTenant: caller.tenantNo !== null })
    ).map(({ at, id, before, after, ...entry }) => {
      const fields: Fields | undefined = caller.scope === 'all' ? undefined : FIELDS[entry.kind as Kind];
      const shown = (values: object): Record<string, unknown> => forReaders(fields ?? {}, values);
      return {
        at: at.toISOString(),
        ...entry,
        resourceId: id,
        ...(before !== null && { before: shown(before) }),
        ...(after !== null && { after: shown(after) }),
      };
    }),
});

export const adminRequestsList = operation('admin_requests_list', 'GET /v1/requests', {
  summary: 'The tenant’s latest requests, newest first: path, status, duration and key',
  description:
    'Requests of both APIs whose key was accepted, for an hour: the latest 1,000, or 100 of each tenant with multi-tenancy. ' +
    'Bodies and queries are not kept. A process lists up to 50 requests a second, 20 of them of one key. Reads of the console and of this list are not listed.',
  query: Type.Object({ limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }) }),
  responses: { 200: Type.Array(ShownRequest) },
  answer: async ({ recentRequests }, { tenant, query: { limit } }) => {
    // Entries have the machine's time, whatever a test clock says.
    const requests = await recentRequests.read(tenant.no, { limit, nowMs: systemClock.now() });
    return requests.map(({ atMs, prefix, ...request }) => ({
      at: new Date(atMs).toISOString(),
      ...request,
      key: prefix,
    }));
  },
});
