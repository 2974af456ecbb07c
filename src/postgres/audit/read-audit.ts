import type { Pool } from 'pg';

/** An entry of the audit log. */
export interface AuditRow {
  at: Date;
  who: string;
  action: string;
  kind: string;
  id: string | null;
  name: string | null;
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
}

/** What was done of a tenant and of the organisation, youngest first. */
export async function readAudit(
  pool: Pool,
  { tenantNo, limit, skip, kind, resourceId, who }: AuditQuery & { tenantNo: number },
): Promise<AuditRow[]> {
  const { rows } = await pool.query<AuditRow>(
    `SELECT at, who, action, kind, id, name, version, before, after FROM audit_log
      WHERE (tenant_no = $1 OR tenant_no IS NULL)
        AND ($4::text IS NULL OR kind = $4) AND ($5::uuid IS NULL OR id = $5) AND ($6::text IS NULL OR who = $6)
      ORDER BY no DESC LIMIT $2 OFFSET $3`,
    [tenantNo, limit, skip, kind ?? null, resourceId ?? null, who ?? null],
  );
  return rows;
}
