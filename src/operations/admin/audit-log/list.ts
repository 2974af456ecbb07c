import { Type } from 'typebox';
import { Paging } from '../../../domain/admin.ts';
import { Nullable, Uuid } from '../../../domain/schemas.ts';
import { operation } from '../../operation.ts';

const AuditEntry = Type.Object({
  at: Type.String({ format: 'date-time' }),
  /** The readable part of the key that asked for it; `first start` for what Laurel set up itself. */
  who: Type.String(),
  action: Type.Enum(['create', 'update', 'delete', 'rotate']),
  kind: Type.String(),
  resourceId: Nullable(Type.String()),
  /** The resource's key or name at that time; of deleted users how many. */
  name: Nullable(Type.String()),
  /** Version of the catalog that this made. */
  version: Nullable(Type.Integer()),
  /** Of an update: what the changed fields were and are. */
  before: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  after: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

export const adminAuditLogList = operation({
  id: 'admin_audit_log_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/audit-log',
  summary: "Who changed what of the tenant's configuration, keys and users, and of the organisation; youngest first",
  query: Type.Object({
    ...Paging.properties,
    kind: Type.Optional(Type.String({ maxLength: 64 })),
    resourceId: Type.Optional(Uuid),
    who: Type.Optional(Type.String({ maxLength: 64 })),
  }),
  responses: { 200: Type.Array(AuditEntry) },
  handle: async ({ audit }, { tenant, query }) => ({
    status: 200,
    body: (await audit.read(tenant.no, query)).map(({ at, id, before, after, ...entry }) => ({
      at: at.toISOString(),
      ...entry,
      resourceId: id,
      ...(before !== null && { before }),
      ...(after !== null && { after }),
    })),
  }),
});
