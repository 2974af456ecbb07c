import type { PoolClient } from 'pg';
import { decimalText } from '../../domain/decimal.ts';
import { storableText } from '../storable-json.ts';
import type { AwardRow } from './insert-awards.ts';
import type { ImportedDayRow } from './insert-imported.ts';

/** Of imported users. */
interface ImportedHistory {
  days: readonly ImportedDayRow[];
  awards: readonly AwardRow[];
}

const LAST_DROPPED = `
  SELECT replace(end_id::text, '-', '') AS "endId" FROM event_partitions WHERE is_dropped ORDER BY end_id DESC LIMIT 1`;

const PART = '(SELECT first_day FROM event_partitions WHERE end_id > past.id ORDER BY end_id LIMIT 1)';

const DAYS = `
  INSERT INTO event_days (part, tenant_no, user_id, metric_no, local_date, events, positive, value)
  SELECT ${PART}, tenant_no, user_id, metric_no, DATE '1970-01-01' + day, 1, (value > 0)::int, value
    FROM unnest($1::uuid[], $2::int[], $3::text[], $4::int[], $5::int[], $6::numeric[]) AS past (id, tenant_no, user_id, metric_no, day, value)`;

const AWARDS = `
  INSERT INTO award_days (part, tenant_no, user_id, system_no, local_date, awards, awarded)
  SELECT ${PART}, tenant_no, user_id, system_no, DATE '1970-01-01' + day, count(*), sum(awarded)
    FROM unnest($1::uuid[], $2::int[], $3::text[], $4::int[], $5::int[], $6::bigint[]) AS past (id, tenant_no, user_id, system_no, day, awarded)
   GROUP BY 1, 2, 3, 4, 5`;

/**
 * What is imported of a time whose events and awards are dropped is stored as what is left of these: sums by day. Returns the others. To be
 * called under the shard's cursor, which a drop waits for.
 */
export async function sumDropped(client: PoolClient, { days, awards }: ImportedHistory): Promise<ImportedHistory> {
  if (days.length + awards.length === 0) return { days, awards };
  const { rows } = await client.query<{ endId: string }>(LAST_DROPPED);
  const endId = rows[0]?.endId ?? '';
  const [goneDays, goneAwards] = [days.filter(({ id }) => id < endId), awards.filter(({ id }) => id < endId)];
  if (goneDays.length > 0)
    await client.query(DAYS, [
      ...named(goneDays),
      goneDays.map(({ metricNo }) => metricNo),
      goneDays.map(({ localDay }) => localDay),
      goneDays.map(({ value }) => decimalText(value)),
    ]);
  if (goneAwards.length > 0)
    await client.query(AWARDS, [
      ...named(goneAwards),
      goneAwards.map(({ systemNo }) => systemNo),
      goneAwards.map(({ localDay }) => localDay),
      goneAwards.map(({ awarded }) => awarded),
    ]);
  return { days: days.filter(({ id }) => id >= endId), awards: awards.filter(({ id }) => id >= endId) };
}

const named = (rows: readonly { id: string; tenantNo: number; userId: string }[]): unknown[] => [
  rows.map(({ id }) => id),
  rows.map(({ tenantNo }) => tenantNo),
  rows.map(({ userId }) => storableText(userId)),
];
