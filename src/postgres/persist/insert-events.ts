import type { PoolClient } from 'pg';
import type { Decimal } from '../../domain/decimal.ts';
import { BinaryRows } from './binary-rows.ts';
import { copyRows } from './copy-rows.ts';
import { storableJson } from '../storable-json.ts';

export interface EventRow {
  /** 32 hex digits. */
  id: string;
  tenantNo: number;
  userId: string;
  metricNo: number;
  value: Decimal;
  /** The user's total of the metric after this event. */
  total: Decimal;
  atMs: number;
  /** When it happened (epoch ms); `null` if at `atMs`. */
  occurredMs: number | null;
  /** The user's local date when it happened, as an epoch day. */
  localDay: number;
  /** JSON text: attribute key → value. */
  attributes: string | null;
  idempotencyKey: string | null;
  /** Streak length that it caused; `null` if it did not extend the streak. */
  streak: number | null;
  /** Version of the catalog; `null` if the event had no consequences. */
  catalogVersion: number | null;
}

const FIELDS =
  'id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes, idempotency_key, streak, catalog_version';
const COPY = `COPY events (${FIELDS}) FROM STDIN (FORMAT binary)`;
const COPY_OCCURRED = `COPY events (${FIELDS}, occurred_at) FROM STDIN (FORMAT binary)`;
const COLUMNS = 12;
const BYTES_A_ROW = 250;

/** Adds events. An existing ID is an error (23505), because the cursor guarantees that each is new. */
export async function insertEvents(client: PoolClient, events: readonly EventRow[]): Promise<void> {
  const occurred = events.filter(({ occurredMs }) => occurredMs !== null);
  const present = occurred.length === 0 ? events : events.filter(({ occurredMs }) => occurredMs === null);
  await copyEvents(client, present, false);
  await copyEvents(client, occurred, true);
}

/** Events without a separate time are copied without that column, so that they cost no more. */
async function copyEvents(client: PoolClient, events: readonly EventRow[], withTime: boolean): Promise<void> {
  if (events.length === 0) return;
  const rows = new BinaryRows(events.length * BYTES_A_ROW);
  for (const event of events) {
    rows
      .row(withTime ? COLUMNS + 1 : COLUMNS)
      .uuid(event.id)
      .int4(event.tenantNo)
      .text(event.userId)
      .int4(event.metricNo)
      .numeric(event.value)
      .numeric(event.total)
      .timestamptz(event.atMs)
      .date(event.localDay)
      .jsonb(event.attributes === null ? null : storableJson(event.attributes))
      .text(event.idempotencyKey);
    if (event.streak === null) rows.null();
    else rows.int4(event.streak);
    if (event.catalogVersion === null) rows.null();
    else rows.int8(event.catalogVersion);
    if (withTime) rows.timestamptz(event.occurredMs!);
  }
  await copyRows(client, withTime ? COPY_OCCURRED : COPY, rows.finish());
}
