import { FIRST_POSITION, LAST_POSITION, lastAwardOf } from '../../domain/administration/timeline.ts';
import { firstIdOf } from './event-partitions.ts';
import type { Pool, PoolClient } from 'pg';

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

const FIRST_ID = firstIdOf(0);

/**
 * SQL: whether an event or award of a local day (epoch day, SQL) or later may have an ID from before the previous UTC day.
 * This applies to events that were released from quarantine days later, and to imported awards that count for another day
 * than their time.
 */
export const mayBeEarlier = (day: string): string => `EXISTS (
    SELECT FROM event_partitions
     WHERE first_day < ${day} - 1 AND NOT is_gone AND ahead_to >= ${day})`;

/** Evaluates `mayBeEarlier` for a read that may return no rows to include it in. Call it after that read. */
export async function isEarlier(client: Pool | PoolClient, day: number): Promise<boolean> {
  const { rows } = await client.query<{ earlier: boolean }>(`SELECT ${mayBeEarlier('$1::int')} AS earlier`, [day]);
  return rows[0]!.earlier;
}

/**
 * Reads events or awards of a local day (epoch day) and later. `read` receives the first ID to read, as a separate value in
 * the statement, so that earlier partitions are not planned for. If some may have earlier IDs, it reads all.
 * @param read.missed the value of `mayBeEarlier` in the answer's snapshot or a later one
 */
export async function readSinceDay<T>(
  day: number,
  read: { rows: (firstId: string) => Promise<T>; missed: (answer: T) => boolean | Promise<boolean> },
): Promise<T> {
  const firstId = firstIdOf(Math.max(0, day - 1));
  const answer = await read.rows(firstId);
  return (await read.missed(answer)) ? read.rows(FIRST_ID) : answer;
}
