import type { Pool } from 'pg';
import { FIRST_POSITION, LAST_POSITION, lastAwardOf } from '../../domain/administration/timeline.ts';

export interface IdWindow {
  fromId: string;
  toId: string;
}

/** Number of partitions in the first window, including one created ahead of time. */
const FIRST_PARTITIONS = 3;

/**
 * Divides the range between two IDs into windows of whole partitions, in search order. A statement that receives a window as
 * values is planned only for its partitions. The first window has a few partitions, each later one twice as many, so that a
 * user who was inactive for years is found after a few statements.
 */
export async function* idWindows(
  pool: Pool,
  { above, below, newest }: { above: string; below: string; newest: boolean },
): AsyncGenerator<IdWindow> {
  const bounds = await boundsAround(pool, { above, below });
  if (newest) bounds.reverse();
  for (let at = 0, partitions = FIRST_PARTITIONS; at < bounds.length - 1; partitions *= 2) {
    const next = Math.min(at + partitions, bounds.length - 1);
    const [a, b] = [bounds[at]!, bounds[next]!];
    yield newest ? { fromId: b, toId: a } : { fromId: a, toId: b };
    at = next;
  }
}

/** Up to `limit` IDs, found window by window. `find` returns a window's first IDs in order, at most as many as requested. */
export async function idsByWindows(
  pool: Pool,
  range: { above: string; below: string; newest: boolean; limit: number },
  find: (window: IdWindow, limit: number) => Promise<string[]>,
): Promise<string[]> {
  const found: string[] = [];
  for await (const window of idWindows(pool, range)) {
    found.push(...(await find(window, range.limit - found.length)));
    if (found.length >= range.limit) break;
  }
  return found;
}

/** The window of partitions that contains some IDs, and IDs that differ only in the last four digits. */
export async function windowAround(pool: Pool, ids: readonly string[]): Promise<IdWindow> {
  const sorted = ids.toSorted();
  const bounds = await boundsAround(pool, { above: sorted[0]!, below: lastAwardOf(sorted.at(-1)!) });
  return { fromId: bounds[0]!, toId: bounds.at(-1)! };
}

/** Bounds of the partitions between two IDs, in order; at least two. */
async function boundsAround(pool: Pool, { above, below }: { above: string; below: string }): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('SELECT end_id AS id FROM event_partitions ORDER BY end_id');
  const all = [FIRST_POSITION, ...rows.map(({ id }) => id), LAST_POSITION];
  const first = all.findLastIndex((bound) => bound <= above);
  const last = all.findIndex((bound, at) => at > first && bound >= below);
  return all.slice(first, last + 1);
}
