import type { PoolClient } from 'pg';
import { toMicros } from '../../domain/micros.ts';
import type { UserState } from '../../packed/state.ts';
import { importedSums } from '../../postgres/corrections/recomputation-history.ts';

/** A sum over history, and the highest that it ever was, in millionths. */
export interface Running {
  sum: bigint;
  peak: bigint;
}

/** What a user brought along: it stays, and pays nothing again. */
export interface ImportedPast {
  /** When, epoch ms: awards and completions up to then are those of elsewhere. */
  atMs: number;
  /** By metric number: the totals with which events began here. */
  totals: ReadonlyMap<number, Running>;
}

/**
 * The pasts of those users who were imported. The total at the end of the import is what there is now without the events since:
 * the imported days may come to less. Filtered counts begin at 0, as the import had them.
 */
export async function importedPasts(
  client: PoolClient,
  {
    tenantNo,
    users,
    metricNos,
  }: { tenantNo: number; users: ReadonlyMap<string, UserState>; metricNos: readonly number[] },
): Promise<Map<string, ImportedPast>> {
  const pasts = new Map<string, ImportedPast>();
  const ids = [...users].filter(([, { importedMs }]) => importedMs !== null).map(([id]) => id);
  if (ids.length === 0) return pasts;
  const sums = new Map<string, { since: string; above: string }>();
  for (const { userId, metricNo, ...sum } of await importedSums(client, { tenantNo, ids, metricNos }))
    sums.set(`${metricNo} ${userId}`, sum);
  for (const id of ids) {
    const { importedMs, totals: now } = users.get(id)!;
    const totals = new Map<number, Running>();
    for (const metricNo of metricNos) {
      const { since, above } = sums.get(`${metricNo} ${id}`) ?? { since: '0', above: '0' };
      const sum = toMicros(now[metricNo] ?? '0') - toMicros(since);
      const highest = sum + toMicros(above);
      totals.set(metricNo, { sum, peak: highest > 0n ? highest : 0n });
    }
    pasts.set(id, { atMs: importedMs!, totals });
  }
  return pasts;
}
