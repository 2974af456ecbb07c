import type { PoolClient } from 'pg';
import { decimalText, type Decimal } from '../../domain/decimal.ts';
import { storableJson, storableText } from '../storable-json.ts';

/** A quarantined event. */
export interface QuarantinedRow {
  /** 32 hex digits. */
  id: string;
  tenantNo: number;
  userId: string;
  metricNo: number;
  /** GUARD. */
  guard: number;
  value: Decimal;
  atMs: number;
  /** JSON text. */
  attributes: string | null;
  idempotencyKey: string | null;
}

const INSERT = `
  INSERT INTO quarantine (id, tenant_no, user_id, metric_no, guard, value, at, attributes, idempotency_key)
  SELECT id, tenant_no, user_id, metric_no, guard, value, to_timestamp(at_ms / 1000.0), attributes, idempotency_key
  FROM unnest($1::uuid[], $2::int[], $3::text[], $4::int[], $5::int[], $6::numeric[], $7::bigint[], $8::jsonb[], $9::text[])
    AS kept (id, tenant_no, user_id, metric_no, guard, value, at_ms, attributes, idempotency_key)`;

/** Adds events to the quarantine. An existing ID is an error (23505), because the cursor guarantees that each is new. */
export async function insertQuarantined(client: PoolClient, kept: readonly QuarantinedRow[]): Promise<void> {
  if (kept.length === 0) return;
  await client.query(INSERT, [
    kept.map((row) => row.id),
    kept.map((row) => row.tenantNo),
    kept.map((row) => storableText(row.userId)),
    kept.map((row) => row.metricNo),
    kept.map((row) => row.guard),
    kept.map((row) => decimalText(row.value)),
    kept.map((row) => row.atMs),
    kept.map((row) => (row.attributes === null ? null : storableJson(row.attributes))),
    kept.map((row) => (row.idempotencyKey === null ? null : storableText(row.idempotencyKey))),
  ]);
}

/** Stored status of a quarantined event. */
export const QUARANTINE_STATUS = { waiting: 1, released: 2, dropped: 3 } as const;

/** An event that was released or dropped. */
export interface SettledRow {
  /** 32 hex digits. */
  id: string;
  status: typeof QUARANTINE_STATUS.released | typeof QUARANTINE_STATUS.dropped;
  atMs: number;
}

const SETTLE = `
  UPDATE quarantine SET status = done.status, settled = to_timestamp(done.at_ms / 1000.0)
    FROM unnest($1::uuid[], $2::int[], $3::bigint[]) AS done (id, status, at_ms) WHERE quarantine.id = done.id`;

/** Records which events were released or dropped. Idempotent. */
export async function settleQuarantined(client: PoolClient, settled: readonly SettledRow[]): Promise<void> {
  if (settled.length === 0) return;
  await client.query(SETTLE, [
    settled.map((row) => row.id),
    settled.map((row) => row.status),
    settled.map((row) => row.atMs),
  ]);
}
