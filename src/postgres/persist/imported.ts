import type { PoolClient } from 'pg';
import { columns } from '../columns.ts';
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

const DAY = columns<ImportedDayRow & { imported: true }>({
  id: 'uuid',
  tenantNo: 'int',
  userId: 'text',
  metricNo: 'int',
  value: 'numeric',
  total: 'numeric',
  atMs: ['time', 'at'],
  localDay: ['day', 'local_date'],
  imported: 'boolean',
});
const INSERT_DAYS = DAY.insertInto('events');

export async function insertImportedDays(client: PoolClient, days: readonly ImportedDayRow[]): Promise<void> {
  if (days.length === 0) return;
  await client.query(INSERT_DAYS, DAY.arrays(days.map((day) => ({ ...day, imported: true }))));
}

/** A completion from another system, whose cause is unknown. */
export type ImportedCompletionRow = Pick<CompletionRow, 'tenantNo' | 'userId' | 'achievementNo' | 'period' | 'atMs'>;

const COMPLETION = columns<ImportedCompletionRow>({
  tenantNo: 'int',
  userId: 'text',
  achievementNo: 'int',
  atMs: ['time', 'at'],
  period: 'int',
});
const INSERT_COMPLETIONS = `${COMPLETION.insertInto('completions')} ON CONFLICT DO NOTHING`;

/** Adds imported completions. They do not appear among the newest completions in the console. */
export async function insertImportedCompletions(
  client: PoolClient,
  completions: readonly ImportedCompletionRow[],
): Promise<void> {
  if (completions.length > 0) await client.query(INSERT_COMPLETIONS, COMPLETION.arrays(completions));
}
