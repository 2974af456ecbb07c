import type { Pool } from 'pg';
import type { HappenedRecord, RecordedPoints } from '../packed/record.ts';
import { AWARD, KIND, kindField, RECORD, RECORDED_POINTS } from '../packed/record-fields.ts';
import { packedDecimal } from '../packed/packed-arrays.ts';
import { parseDecimal } from '../domain/decimal.ts';

const SELECT_EVENTS = `
  SELECT replace(id::text, '-', '') AS id, tenant_no, user_id, metric_no, value::text, total::text,
         (extract(epoch FROM at) * 1000)::float8 AS at, (local_date - date '1970-01-01') AS day, idempotency_key
    FROM events WHERE id = ANY ($1::uuid[])`;

/** Finds awards by user. Their IDs are the event's ID with an ordinal from 1 to ffff in the last four digits. */
const SELECT_AWARDS = `
  SELECT event.id AS event_id, system_no, trigger_no, awarded::float8, total::float8,
         coalesce(boost_nos, '{}') AS boost_nos
    FROM unnest($1::text[], $2::int[], $3::text[]) AS event (id, tenant_no, user_id)
    JOIN awards ON awards.tenant_no = event.tenant_no AND awards.user_id = event.user_id
               AND awards.id BETWEEN event.id::uuid AND (left(event.id, 28) || 'ffff')::uuid
   ORDER BY awards.id`;

interface EventRow {
  id: string;
  tenant_no: number;
  user_id: string;
  metric_no: number;
  /** Decimal texts. */
  value: string;
  total: string;
  at: number;
  day: number;
  idempotency_key: string | null;
}

interface AwardRow {
  event_id: string;
  system_no: number;
  trigger_no: number;
  awarded: number;
  total: number;
  boost_nos: number[];
}

/** Events that Postgres holds, with total and awards. Streak and ranks of then are not stored. */
export async function findPersistedEvents(pool: Pool, ids: string[]): Promise<Map<string, HappenedRecord>> {
  const { rows } = await pool.query<EventRow>(SELECT_EVENTS, [ids]);
  const records = new Map<string, HappenedRecord>();
  if (rows.length === 0) return records;
  const awards = await pool.query<AwardRow>(SELECT_AWARDS, [
    rows.map(({ id }) => id),
    rows.map(({ tenant_no }) => tenant_no),
    rows.map(({ user_id }) => user_id),
  ]);
  for (const row of rows) {
    const value = parseDecimal(row.value);
    const total = parseDecimal(row.total);
    records.set(row.id, {
      [kindField]: KIND.event,
      [RECORD.id]: row.id,
      [RECORD.userId]: row.user_id,
      [RECORD.atMs]: row.at,
      [RECORD.day]: row.day,
      [RECORD.metric]: row.metric_no,
      [RECORD.value]: packedDecimal(value),
      [RECORD.total]: packedDecimal(total),
      [RECORD.points]: pointsOf(awards.rows.filter(({ event_id }) => event_id === row.id)),
      ...(row.idempotency_key !== null && { [RECORD.idempotencyKey]: row.idempotency_key }),
    });
  }
  return records;
}

function pointsOf(awards: AwardRow[]): RecordedPoints[] {
  const systems = new Map<number, RecordedPoints>();
  for (const { system_no, trigger_no, awarded, total, boost_nos } of awards) {
    const system: RecordedPoints = systems.get(system_no) ?? {
      [RECORDED_POINTS.system]: system_no,
      [RECORDED_POINTS.before]: total - awarded,
      [RECORDED_POINTS.after]: total,
      [RECORDED_POINTS.awards]: [],
    };
    system[RECORDED_POINTS.after] = total;
    system[RECORDED_POINTS.awards].push({
      [AWARD.trigger]: trigger_no,
      [AWARD.awarded]: awarded,
      [AWARD.after]: total,
      [AWARD.boosts]: boost_nos,
    });
    systems.set(system_no, system);
  }
  return [...systems.values()];
}
