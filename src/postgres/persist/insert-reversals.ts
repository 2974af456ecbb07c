import type { PoolClient } from 'pg';
import { decimalText } from '../../domain/decimal.ts';
import { dateOf } from '../../domain/periods.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import { COMPLETED } from '../../packed/record-fields.ts';
import { storableJson, storableText } from '../storable-json.ts';
import type { EventRow } from './insert-events.ts';

export interface ReversalRow {
  /** The opposite event. */
  event: Omit<EventRow, 'idempotencyKey'>;
  /** 32 hex digits. */
  root: string;
  reversed: string;
  /** False if a reversal was reversed, so that the root event counts again. */
  voids: boolean;
  awards: Compensated[];
  revoked: PackedCompletion[];
  restored: PackedCompletion[];
}

const INSERT_EVENT = `
  INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes, reverses, occurred_at)
  VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7 / 1000.0), $8, $9, $10, to_timestamp($11 / 1000.0))`;

const INSERT_REVERSAL = `
  INSERT INTO reversals (id, tenant_no, user_id, root_id, reversed_id, in_force, awards, revoked, at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, to_timestamp($9 / 1000.0))`;

const DELETE_COMPLETIONS = `
  DELETE FROM completions WHERE tenant_no = $1 AND user_id = $2 AND achievement_no = ANY ($3::int[])
  RETURNING json_build_array(achievement_no, (extract(epoch FROM at) * 1000)::bigint,
                             replace(caused_by::text, '-', '')) AS completion`;

/**
 * Adds reversals with their opposite events, in order. Deletes revoked completions and restores others unchanged. An existing ID is an error (23505),
 * because the cursor guarantees that each is new.
 */
export async function insertReversals(client: PoolClient, reversals: readonly ReversalRow[]): Promise<void> {
  for (const { event, root, reversed, voids, awards, revoked, restored } of reversals) {
    const { id, tenantNo, metricNo, atMs } = event;
    const userId = storableText(event.userId);
    const sums = [decimalText(event.value), decimalText(event.total)];
    const attributes = event.attributes === null ? null : storableJson(event.attributes);
    const when = [atMs, dateOf(event.localDay)];
    const values = [id, tenantNo, userId, metricNo, ...sums, ...when, attributes, reversed, event.occurredMs];
    await client.query(INSERT_EVENT, values);
    await client.query('UPDATE reversals SET in_force = false WHERE root_id = $1 AND in_force', [root]);
    const { rows } = await client.query<{ completion: PackedCompletion }>(DELETE_COMPLETIONS, [
      tenantNo,
      userId,
      revoked.map((each) => each[COMPLETED.achievement]),
    ]);
    const kept = voids ? rows.map(({ completion }) => completion) : restored;
    const lists = [JSON.stringify(awards), JSON.stringify(kept)];
    await client.query(INSERT_REVERSAL, [id, tenantNo, userId, root, reversed, voids, ...lists, atMs]);
    await client.query(
      `INSERT INTO completions (tenant_no, user_id, achievement_no, at, caused_by)
       SELECT $1, $2, no, to_timestamp(at_ms / 1000.0), caused_by
         FROM unnest($3::int[], $4::bigint[], $5::uuid[]) AS restored (no, at_ms, caused_by)
       ON CONFLICT DO NOTHING`,
      [
        tenantNo,
        userId,
        restored.map((each) => each[COMPLETED.achievement]),
        restored.map((each) => each[COMPLETED.atMs]),
        restored.map((each) => each[COMPLETED.causedBy] ?? null),
      ],
    );
  }
}
