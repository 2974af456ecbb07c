import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import { firstIdAt, msOf } from '../../domain/administration/timeline.ts';
import { QUARANTINE_STATUS } from '../corrections/quarantine.ts';
import { idsByWindows, type IdWindow } from '../partitions/id-windows.ts';
import { storableText } from '../storable-json.ts';
import { type TimelineRange, userMetrics } from './entries.ts';

/** Number of local days per query, at first and at most. Each costs an index probe per metric. */
const FIRST_DAYS = 4;
const MOST_DAYS = 64;

/**
 * IDs of a user's events in order of time. The index `events_of_user` is ordered by metric, local day and ID, so each query
 * merges a few days. The local day differs by at most one from the UTC day in the ID, except for late events, which have
 * their own index, and events released from quarantine. The outermost days of a query may be incomplete and are left to the
 * next one. Cost: O(metrics × days read × limit), regardless of the number of events. Skips days without events. Reads a few
 * partitions at a time.
 */
export function eventIds(pool: Pool, query: TimelineRange): Promise<string[]> {
  return idsByWindows(pool, query, async ({ fromId, toId }, limit) => {
    const above = query.above > fromId ? query.above : fromId;
    const below = query.below < toId ? query.below : toId;
    const range = { ...query, above, below, limit, fromId, toId };
    const ids = new Set([
      ...(await idsByDays(pool, range)),
      ...(await idsOf(pool, range, lateIdsStatement(query.newest))),
      ...(await idsOf(pool, range, releasedIdsStatement(query.newest))),
    ]);
    return [...ids].toSorted((a, b) => (query.newest === a < b ? 1 : -1)).slice(0, limit);
  });
}

/** A part of a timeline within a window of IDs that covers whole partitions. */
type WindowRange = TimelineRange & IdWindow;

/** IDs of the events that arrived on their own day. */
async function idsByDays(pool: Pool, query: WindowRange): Promise<string[]> {
  const { newest, limit } = query;
  const found: string[] = [];
  let { above, below } = query;
  for (let days = FIRST_DAYS; found.length < limit; days = Math.min(2 * days, MOST_DAYS)) {
    const turn = await idsOfDays(pool, { ...query, above, below, limit: limit - found.length }, days);
    if (turn === null) break;
    found.push(...turn.ids);
    if (newest) below = turn.end;
    else above = turn.end;
    if (below <= above) break;
  }
  return found;
}

const IN_WINDOW = 'id >= $8::uuid AND id < $9::uuid';

/**
 * The user's events on the nearest day that has some (`edge`) and on the days behind it. Parameters: tenant, user, first
 * day, number of days, the IDs above and below, limit, the window of whole partitions. It compares and orders by day and ID
 * together; by ID alone, the planner might use the primary key and read all users' events.
 */
export const eventIdsStatement = (newest: boolean): string => `
  WITH RECURSIVE ${userMetrics({ from: '$8', to: '$9' })}, edge AS (
    SELECT ${newest ? 'max' : 'min'}(nearest.local_date) AS day
      FROM metric CROSS JOIN LATERAL (
        SELECT local_date FROM events
         WHERE tenant_no = $1 AND user_id = $2 AND metric_no = metric.no
           AND local_date ${newest ? '<=' : '>='} DATE '1970-01-01' + $3::int AND ${IN_WINDOW}
         ORDER BY local_date ${newest ? 'DESC' : ''} LIMIT 1) AS nearest
  ), ids AS (
    SELECT found.id
      FROM edge CROSS JOIN generate_series(0, $4::int - 1) AS step CROSS JOIN metric
      CROSS JOIN LATERAL (
        SELECT id FROM events
         WHERE tenant_no = $1 AND user_id = $2 AND metric_no = metric.no
           AND (local_date, id) > (edge.day ${newest ? '-' : '+'} step, $5::uuid)
           AND (local_date, id) < (edge.day ${newest ? '-' : '+'} step, $6::uuid) AND ${IN_WINDOW}
         ORDER BY ${newest ? 'local_date DESC, id DESC' : 'local_date, id'} LIMIT $7) AS found
  )
  SELECT edge.day - DATE '1970-01-01' AS day,
         ARRAY(SELECT id::text FROM ids ORDER BY id ${newest ? 'DESC' : ''} LIMIT $7) AS ids
    FROM edge WHERE edge.day IS NOT NULL`;

/** The IDs of one query and where the next one begins (exclusive); `null` if none are left. */
async function idsOfDays(
  pool: Pool,
  { tenantNo, userId, above, below, newest, limit, fromId, toId }: WindowRange,
  days: number,
): Promise<{ ids: string[]; end: string } | null> {
  const { rows } = await pool.query<{ day: number; ids: string[] }>(eventIdsStatement(newest), [
    tenantNo,
    storableText(userId),
    newest ? utcDayOf(below) + 1 : utcDayOf(above) - 1,
    days,
    above,
    below,
    limit,
    fromId,
    toId,
  ]);
  const [row] = rows;
  if (row === undefined) return null;
  // The UTC days that contain only local days read by this query.
  const end = firstIdAt((newest ? row.day - days + 2 : row.day + days - 1) * DAY_MS);
  return { ids: row.ids.filter((id) => (newest ? id >= end : id < end)), end };
}

const utcDayOf = (id: string): number => Math.floor(msOf(id) / DAY_MS);

/** Uses the index `events_late`. Parameters: tenant, user, the IDs above and below, limit, the window of whole partitions. */
export const lateIdsStatement = (newest: boolean): string => `
  SELECT id::text FROM events
   WHERE tenant_no = $1 AND (user_id, id) > ($2, $3::uuid) AND (user_id, id) < ($2, $4::uuid)
     AND id >= $6::uuid AND id < $7::uuid
     AND at - TIMESTAMPTZ '2000-01-01 00:00:00+00' >= (local_date - DATE '2000-01-01' + 2) * INTERVAL '1 day'
   ORDER BY ${newest ? 'user_id DESC, events.id DESC' : 'user_id, events.id'} LIMIT $5`;

/** Events released from quarantine; few wait for days. Same parameters. */
const releasedIdsStatement = (newest: boolean): string => `
  SELECT events.id::text FROM quarantine JOIN events ON events.id = quarantine.id
   WHERE quarantine.tenant_no = $1 AND quarantine.user_id = $2 AND status = ${QUARANTINE_STATUS.released}
     AND quarantine.id > $3::uuid AND quarantine.id < $4::uuid AND events.id >= $6::uuid AND events.id < $7::uuid
   ORDER BY quarantine.id ${newest ? 'DESC' : ''} LIMIT $5`;

async function idsOf(
  pool: Pool,
  { tenantNo, userId, above, below, limit, fromId, toId }: WindowRange,
  statement: string,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(statement, [
    tenantNo,
    storableText(userId),
    above,
    below,
    limit,
    fromId,
    toId,
  ]);
  return rows.map(({ id }) => id);
}

/** IDs of the reversals of a user's events. Cost: O(the user's reversals). */
export async function reversalIds(
  pool: Pool,
  { tenantNo, userId, above, below, newest, limit }: TimelineRange,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id::text FROM reversals WHERE tenant_no = $1 AND user_id = $2 AND id > $3::uuid AND id < $4::uuid
      ORDER BY reversals.id ${newest ? 'DESC' : ''} LIMIT $5`,
    [tenantNo, storableText(userId), above, below, limit],
  );
  return rows.map(({ id }) => id);
}
