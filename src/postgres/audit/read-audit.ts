import type { Pool } from 'pg';
import { storableText } from '../storable-json.ts';

/** An entry of the audit log. */
export interface AuditRow {
  at: Date;
  who: string;
  address: string | null;
  requestId: string | null;
  action: string;
  kind: string;
  id: string | null;
  name: string | null;
  userId: string | null;
  version: number | null;
  before: object | null;
  after: object | null;
}

export interface AuditQuery {
  limit: number;
  skip: number;
  kind?: string | undefined;
  resourceId?: string | undefined;
  who?: string | undefined;
  userId?: string | undefined;
}

/** Entries about a tenant and, unless only the tenant's own are requested, about the organisation; newest first. */
export async function readAudit(
  pool: Pool,
  { tenantNo, onlyTenant, ...query }: AuditQuery & { tenantNo: number; onlyTenant: boolean },
): Promise<AuditRow[]> {
  const { limit, skip, kind, resourceId, who, userId } = query;
  const { rows } = await pool.query<AuditRow>(
    `SELECT at, who, address, request_id AS "requestId", action, kind, id, name, about_user AS "userId", version, before, after
       FROM audit_log
      WHERE (tenant_no = $1 ${onlyTenant ? '' : 'OR tenant_no IS NULL'})
        AND ($4::text IS NULL OR kind = $4) AND ($5::uuid IS NULL OR id = $5) AND ($6::text IS NULL OR who = $6)
        AND ($7::text IS NULL OR about_user = $7)
      ORDER BY no DESC LIMIT $2 OFFSET $3`,
    [
      tenantNo,
      limit,
      skip,
      kind ?? null,
      resourceId ?? null,
      who ?? null,
      userId === undefined ? null : storableText(userId),
    ],
  );
  return rows;
}
