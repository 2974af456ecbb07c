import type { Pool, PoolClient } from 'pg';
import type { Author } from '../../domain/author.ts';
import { storableJson, storableText } from '../persist/storable-json.ts';

export const AUDIT_ACTIONS = ['create', 'update', 'delete', 'rotate', 'restore', 'export', 'refuse'] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** What somebody did. */
export interface AuditEntry {
  action: AuditAction;
  kind: string;
  /** A UUID, if what it is about has one. */
  id?: string | null;
  name?: string | null;
  /** The ID of the user it is about. */
  userId?: string;
  /** What the changed fields were and are. */
  before?: object | undefined;
  after?: object | undefined;
}

/** What is written of one request. */
export interface AuditRecord {
  /** Null: of the organisation. */
  tenantNo: number | null;
  nowMs: number;
  by: Author;
  version?: number;
  entries: readonly AuditEntry[];
}

/** Bytes of JSON kept of what fields were; more is left out. */
const MOST = 4096;

const jsonOf = (fields: object | undefined): string | null => {
  if (fields === undefined) return null;
  const json = JSON.stringify(fields, (name, value: unknown) => (/secret/i.test(name) ? '…' : value));
  return json.length > MOST ? null : storableJson(json);
};

/** Notes what was done: in the transaction that does it, where there is one. */
export async function writeAudit(
  client: Pool | PoolClient,
  { tenantNo, nowMs, by, version, entries }: AuditRecord,
): Promise<void> {
  if (entries.length === 0) return;
  await client.query(
    `INSERT INTO audit_log (tenant_no, at, who, address, request_id, version,
                            action, kind, id, name, about_user, before, after)
     SELECT $1, to_timestamp($2 / 1000.0), $3, $4, $5, $6, action, kind, id, name, about_user, before, after
       FROM unnest($7::text[], $8::text[], $9::uuid[], $10::text[], $11::text[], $12::jsonb[], $13::jsonb[])
         AS done (action, kind, id, name, about_user, before, after)`,
    [
      tenantNo,
      nowMs,
      by.who,
      by.address ?? null,
      by.requestId ?? null,
      version ?? null,
      entries.map(({ action }) => action),
      entries.map(({ kind }) => kind),
      entries.map(({ id }) => id ?? null),
      entries.map(({ name = null }) => name && storableText(name)),
      entries.map(({ userId }) => (userId === undefined ? null : storableText(userId))),
      entries.map(({ before }) => jsonOf(before)),
      entries.map(({ after }) => jsonOf(after)),
    ],
  );
}
