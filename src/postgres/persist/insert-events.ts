import type { PoolClient } from 'pg';
import { dateOf } from '../../domain/periods.ts';
import { copyRows } from './copy-rows.ts';
import { COPY_NULL, copyText, copyTimestamp } from './copy-text.ts';
import { storableJson } from './storable-json.ts';

export interface EventRow {
  /** 32 hex digits. */
  id: string;
  tenantNo: number;
  userId: string;
  metricNo: number;
  /** Decimal text, as is `total`. */
  value: string;
  total: string;
  atMs: number;
  /** Epoch day of the user's local date. */
  localDay: number;
  /** JSON text: attribute key → value. */
  attributes: string | null;
  idempotencyKey: string | null;
}

const COPY =
  'COPY events (id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes, idempotency_key) FROM STDIN';

/** Adds events. An ID that is there already is an error (23505): the cursor says that each is new. */
export async function insertEvents(client: PoolClient, events: readonly EventRow[]): Promise<void> {
  if (events.length === 0) return;
  let rows = '';
  let day = Number.NaN;
  let date = '';
  for (const event of events) {
    if (event.localDay !== day) {
      day = event.localDay;
      date = dateOf(day);
    }
    const attributes = event.attributes === null ? COPY_NULL : copyText(storableJson(event.attributes));
    const key = event.idempotencyKey === null ? COPY_NULL : copyText(event.idempotencyKey);
    rows += `${event.id}\t${event.tenantNo}\t${copyText(event.userId)}\t${event.metricNo}\t${event.value}\t${event.total}\t${copyTimestamp(event.atMs)}\t${date}\t${attributes}\t${key}\n`;
  }
  await copyRows(client, COPY, rows);
}
