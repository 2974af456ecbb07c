import type { PoolClient } from 'pg';
import { decimalText } from '../../domain/decimal.ts';
import { storableText } from '../storable-json.ts';
import type { AwardRow, EventRow, CompletionRow } from './events.ts';

/** Sum of a user's events of a metric on a local day, from another system, and the total at the end of the day. */
export type ImportedDayRow = Pick<
  EventRow,
  'id' | 'tenantNo' | 'userId' | 'metricNo' | 'value' | 'total' | 'atMs' | 'localDay'
>;

interface ImportedHistory {
  days: readonly ImportedDayRow[];
  awards: readonly AwardRow[];
}

const LAST_DROPPED = `
  SELECT replace(end_id::text, '-', '') AS "endId" FROM event_partitions WHERE is_dropped ORDER BY end_id DESC LIMIT 1`;

/** Separates rows of kept days from those of dropped ones. Call it while holding the shard's cursor. */
export async function splitImported(
  client: PoolClient,
  { days, awards }: ImportedHistory,
): Promise<{ kept: ImportedHistory; gone: ImportedHistory }> {
  if (days.length + awards.length === 0) return { kept: { days, awards }, gone: { days, awards } };
  const { rows } = await client.query<{ endId: string }>(LAST_DROPPED);
  const endId = rows[0]?.endId ?? '';
  const isKept = ({ id }: { id: string }): boolean => id >= endId;
  const isGone = ({ id }: { id: string }): boolean => id < endId;
  return {
    kept: { days: days.filter(isKept), awards: awards.filter(isKept) },
    gone: { days: days.filter(isGone), awards: awards.filter(isGone) },
  };
}

const DAYS = `
  INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, imported)
  SELECT id, tenant_no, user_id, metric_no, value, total, to_timestamp(at_ms / 1000.0), DATE '1970-01-01' + day, true
  FROM unnest($1::uuid[], $2::int[], $3::text[], $4::int[], $5::numeric[], $6::numeric[], $7::float8[], $8::int[])
    AS imported (id, tenant_no, user_id, metric_no, value, total, at_ms, day)`;

export async function insertImportedDays(client: PoolClient, days: readonly ImportedDayRow[]): Promise<void> {
  if (days.length === 0) return;
  await client.query(DAYS, [
    days.map(({ id }) => id),
    days.map(({ tenantNo }) => tenantNo),
    days.map(({ userId }) => storableText(userId)),
    days.map(({ metricNo }) => metricNo),
    days.map(({ value }) => decimalText(value)),
    days.map(({ total }) => decimalText(total)),
    days.map(({ atMs }) => atMs),
    days.map(({ localDay }) => localDay),
  ]);
}

/** A completion from another system, whose cause is unknown. */
export type ImportedCompletionRow = Pick<CompletionRow, 'tenantNo' | 'userId' | 'achievementNo' | 'period' | 'atMs'>;

const COMPLETIONS = `
  INSERT INTO completions (tenant_no, user_id, achievement_no, at, period)
  SELECT tenant_no, user_id, achievement_no, to_timestamp(at_ms / 1000.0), period
  FROM unnest($1::int[], $2::text[], $3::int[], $4::float8[], $5::int[])
    AS imported (tenant_no, user_id, achievement_no, at_ms, period)
  ON CONFLICT DO NOTHING`;

/** Adds imported completions. They do not appear among the newest completions in the console. */
export async function insertImportedCompletions(
  client: PoolClient,
  completions: readonly ImportedCompletionRow[],
): Promise<void> {
  if (completions.length === 0) return;
  await client.query(COMPLETIONS, [
    completions.map(({ tenantNo }) => tenantNo),
    completions.map(({ userId }) => storableText(userId)),
    completions.map(({ achievementNo }) => achievementNo),
    completions.map(({ atMs }) => atMs),
    completions.map(({ period }) => period),
  ]);
}
