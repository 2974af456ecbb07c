import type { Pool, PoolClient } from 'pg';
import type { Author } from '../../domain/author.ts';
import { storableJson, storableText } from '../storable-json.ts';

export const AUDIT_ACTIONS = [
  'create',
  'update',
  'delete',
  'rotate',
  'restore',
  'reverse',
  'reset',
  'export',
  'refuse',
  'resend',
  'test',
  'release',
  'apply',
  'cancel',
  'retry',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** An action of a caller. */
export interface AuditEntry {
  action: AuditAction;
  kind: string;
  /** UUID of the subject, if it has one. */
  id?: string | null;
  name?: string | null;
  /** ID of the user concerned. */
  userId?: string;
  /** Previous and new values of the changed fields. */
  before?: object | undefined;
  after?: object | undefined;
}

/** The entries of one request. */
export interface AuditRecord {
  /** `null` for the organisation. */
  tenantNo: number | null;
  nowMs: number;
  by: Author;
  version?: number;
  entries: readonly AuditEntry[];
}

/** Bytes of JSON kept of each set of fields; the rest is omitted. */
const MOST = 4096;

const jsonOf = (fields: object | undefined): string | null => {
  if (fields === undefined) return null;
  const json = JSON.stringify(fields, (name, value: unknown) => (/secret/i.test(name) ? '…' : value));
  return json.length > MOST ? null : storableJson(json);
};

/** Rows per statement. Serialising them blocks the event loop. */
const ROWS_AT_ONCE = 1_000;

/** Records actions, in the transaction that performs them if there is one. */
export async function writeAudit(
  client: Pool | PoolClient,
  records: AuditRecord | readonly AuditRecord[],
): Promise<void> {
  const rows = [records].flat().flatMap(({ entries, ...of }) => entries.map((entry) => ({ ...of, ...entry })));
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
    await writeRows(client, rows.slice(from, from + ROWS_AT_ONCE));
}

type Row = Omit<AuditRecord, 'entries'> & AuditEntry;

async function writeRows(client: Pool | PoolClient, rows: readonly Row[]): Promise<void> {
  await client.query(
    `INSERT INTO audit_log (tenant_no, at, who, address, request_id, version,
                            action, kind, id, name, about_user, before, after)
     SELECT tenant_no, to_timestamp(at_ms / 1000), who, address, request_id, version,
            action, kind, id, name, about_user, before, after
       FROM unnest($1::int[], $2::float8[], $3::text[], $4::text[], $5::text[], $6::bigint[],
                   $7::text[], $8::text[], $9::uuid[], $10::text[], $11::text[], $12::jsonb[], $13::jsonb[])
         AS done (tenant_no, at_ms, who, address, request_id, version,
                  action, kind, id, name, about_user, before, after)`,
    [
      rows.map(({ tenantNo }) => tenantNo),
      rows.map(({ nowMs }) => nowMs),
      rows.map(({ by }) => by.who),
      rows.map(({ by }) => by.address ?? null),
      rows.map(({ by }) => by.requestId ?? null),
      rows.map(({ version }) => version ?? null),
      rows.map(({ action }) => action),
      rows.map(({ kind }) => kind),
      rows.map(({ id }) => id ?? null),
      rows.map(({ name = null }) => name && storableText(name)),
      rows.map(({ userId }) => (userId === undefined ? null : storableText(userId))),
      rows.map(({ before }) => jsonOf(before)),
      rows.map(({ after }) => jsonOf(after)),
    ],
  );
}
