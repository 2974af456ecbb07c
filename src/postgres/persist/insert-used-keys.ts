import type { PoolClient } from 'pg';
import { BinaryRows } from './binary-rows.ts';
import { copyRows } from './copy-rows.ts';
import type { EventRow } from './insert-events.ts';

const COPY = 'COPY used_keys (id, tenant_no, user_id, metric_no, idempotency_key) FROM STDIN (FORMAT binary)';
const COLUMNS = 5;
const BYTES_A_ROW = 120;

/** Adds the idempotency keys of events. As for events, an existing ID is an error (23505). */
export async function insertUsedKeys(client: PoolClient, events: readonly EventRow[]): Promise<void> {
  const keyed = events.filter(({ idempotencyKey }) => idempotencyKey !== null);
  if (keyed.length === 0) return;
  const rows = new BinaryRows(keyed.length * BYTES_A_ROW);
  for (const { id, tenantNo, userId, metricNo, idempotencyKey } of keyed)
    rows.row(COLUMNS).uuid(id).int4(tenantNo).text(userId).int4(metricNo).text(idempotencyKey);
  await copyRows(client, COPY, rows.finish());
}
