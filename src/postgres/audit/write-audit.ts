import type { Pool, PoolClient } from 'pg';
import { storableJson, storableText } from '../persist/storable-json.ts';

/** What somebody did. */
export interface AuditEntry {
  action: 'create' | 'update' | 'delete' | 'rotate';
  kind: string;
  /** A UUID, if what it is about has one. */
  id?: string | null;
  name?: string | null;
  /** What the changed fields were and are. */
  before?: object | undefined;
  after?: object | undefined;
}

interface Written {
  /** Null: of the organisation. */
  tenantNo: number | null;
  nowMs: number;
  /** The readable part of the key that asked for it. */
  who: string;
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
  { tenantNo, nowMs, who, version, entries }: Written,
): Promise<void> {
  if (entries.length === 0) return;
  await client.query(
    `INSERT INTO audit_log (tenant_no, at, who, version, action, kind, id, name, before, after)
     SELECT $1, to_timestamp($2 / 1000.0), $3, $4, action, kind, id, name, before, after
       FROM unnest($5::text[], $6::text[], $7::uuid[], $8::text[], $9::jsonb[], $10::jsonb[])
         AS done (action, kind, id, name, before, after)`,
    [
      tenantNo,
      nowMs,
      who,
      version ?? null,
      entries.map(({ action }) => action),
      entries.map(({ kind }) => kind),
      entries.map(({ id }) => id ?? null),
      entries.map(({ name = null }) => name && storableText(name)),
      entries.map(({ before }) => jsonOf(before)),
      entries.map(({ after }) => jsonOf(after)),
    ],
  );
}
