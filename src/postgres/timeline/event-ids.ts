import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import { firstIdAt, msOf } from '../../domain/timeline-position.ts';
import { storableText } from '../storable-json.ts';
import type { TimelineRange } from './range.ts';
import { idsByWindows, type IdWindow } from '../partitions/id-windows.ts';
import { QUARANTINE_STATUS } from '../persist/insert-quarantined.ts';
import { userMetrics } from './user-numbers.ts';

/** How many local days are looked at together, at first and at most: each costs a probe of the index for each metric. */
const FIRST_DAYS = 4;
const MOST_DAYS = 64;

/**
 * IDs of a user's events in their order, which is that of time. One index has a user's events by metric, local day and ID
 * (`events_of_user`), so some days at a time are merged. The local day differs by one at most from the UTC day in the ID, but
 * for late events, which have an index of their own, and those released from quarantine: what
 * the first or last two of the days looked at may lack is left to the next turn. Cost: O(metrics × days looked at × limit), however
 * many events there are; days without events are skipped. Partitions are looked into a few at a time.
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

/** A part of a timeline in a window of IDs, of whole partitions. */
type WindowRange = TimelineRange & IdWindow;

/** The IDs of those that came on their day. */
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
 * What the user has on the nearest day with events (`edge`) and those behind it. Parameters: tenant, user, day to begin on, number
 * of days, the IDs above and below, limit, the window of whole partitions. Days and IDs are compared and ordered together: by the ID alone, the planner might
 * take the primary key, and read the events of all users for a few of this one.
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

/** The IDs of a turn, and where the next one begins (excluded); null: there are none any more. */
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
  // The UTC days that have no other local days than those that were read.
  const end = firstIdAt((newest ? row.day - days + 2 : row.day + days - 1) * DAY_MS);
  return { ids: row.ids.filter((id) => (newest ? id >= end : id < end)), end };
}

/** The UTC day (epoch day) in an ID. */
const utcDayOf = (id: string): number => Math.floor(msOf(id) / DAY_MS);

/** As the index `events_late` has it. Parameters: tenant, user, the IDs above and below, limit, the window of whole partitions. */
export const lateIdsStatement = (newest: boolean): string => `
  SELECT id::text FROM events
   WHERE tenant_no = $1 AND (user_id, id) > ($2, $3::uuid) AND (user_id, id) < ($2, $4::uuid)
     AND id >= $6::uuid AND id < $7::uuid
     AND at - TIMESTAMPTZ '2000-01-01 00:00:00+00' >= (local_date - DATE '2000-01-01' + 2) * INTERVAL '1 day'
   ORDER BY ${newest ? 'user_id DESC, events.id DESC' : 'user_id, events.id'} LIMIT $5`;

/** Those that were released from quarantine, of which few wait for days. The same parameters. */
const releasedIdsStatement = (newest: boolean): string => `
  SELECT events.id::text FROM quarantine JOIN events ON events.id = quarantine.id
   WHERE quarantine.tenant_no = $1 AND quarantine.user_id = $2 AND status = ${QUARANTINE_STATUS.released}
     AND quarantine.id > $3::uuid AND quarantine.id < $4::uuid AND events.id >= $6::uuid AND events.id < $7::uuid
   ORDER BY quarantine.id ${newest ? 'DESC' : ''} LIMIT $5`;

/** The IDs of those of which one of the two statements is. */
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

/** The IDs of reversals of the user's events. Cost: O(the user's reversals). */
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
