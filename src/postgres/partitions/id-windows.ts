import type { Pool } from 'pg';
import { FIRST_POSITION, LAST_POSITION, lastAwardOf } from '../../domain/timeline-position.ts';

/** IDs from one (included) to another (excluded). */
export interface IdWindow {
  fromId: string;
  toId: string;
}

/** How many partitions the first window has; one of those made ahead is among them. */
const FIRST_PARTITIONS = 3;

/**
 * All that lies between two IDs, in windows of whole partitions, in the order in which it is looked for: a statement that is given a
 * window as values is not even planned for other partitions. The first one has a few partitions, each later one twice as many, so that who did
 * nothing for years is found after a few statements.
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

/** Up to `limit` IDs, found window by window. `find` answers the first ones of a window, in their order, no more than it is asked for. */
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

/** The window of whole partitions that holds some IDs (at least one), with all that has one of them but for its last four digits. */
export async function windowAround(pool: Pool, ids: readonly string[]): Promise<IdWindow> {
  const sorted = ids.toSorted();
  const bounds = await boundsAround(pool, { above: sorted[0]!, below: lastAwardOf(sorted.at(-1)!) });
  return { fromId: bounds[0]!, toId: bounds.at(-1)! };
}

/** The bounds of the partitions that hold what lies between two IDs, in order; at least two. */
async function boundsAround(pool: Pool, { above, below }: { above: string; below: string }): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('SELECT end_id AS id FROM event_partitions ORDER BY end_id');
  const all = [FIRST_POSITION, ...rows.map(({ id }) => id), LAST_POSITION];
  const first = all.findLastIndex((bound) => bound <= above);
  const last = all.findIndex((bound, at) => at > first && bound >= below);
  return all.slice(first, last + 1);
}
