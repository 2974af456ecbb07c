import type { Pool } from 'pg';
import { firstIdAt, lastAwardOf, msOf } from '../../domain/administration/timeline.ts';
import { DAY_MS, epochDay } from '../../domain/periods.ts';
import { QUARANTINE_STATUS } from '../corrections/quarantine.ts';
import { idsByWindows, type IdWindow, windowAround } from '../partitions.ts';
import { storableText } from '../storable-json.ts';
import { type TimelineRange, userMetrics, userSystems } from './entries.ts';
import type { StoredAward } from '../history/days.ts';
import type { NamedUser } from '../../domain/user.ts';

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
  const ids: string[] = [];
  let { above, below } = query;
  for (let days = FIRST_DAYS; ids.length < limit; days = Math.min(2 * days, MOST_DAYS)) {
    const turn = await idsOfDays(pool, { ...query, above, below, limit: limit - ids.length }, days);
    if (turn === null) break;
    ids.push(...turn.ids);
    if (newest) below = turn.end;
    else above = turn.end;
    if (below <= above) break;
  }
  return ids;
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

const utcDayOf = (id: string): number => epochDay(msOf(id));

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

export interface TimelineEventRow {
  id: string;
  metricNo: number;
  value: number;
  total: number;
  at: Date;
  /** `YYYY-MM-DD`. */
  localDate: string;
  /** When a late event happened. */
  occurredAt: Date | null;
  attributes: Record<string, string> | null;
  idempotencyKey: string | null;
  /** Streak length that it caused. */
  streak: number | null;
  catalogVersion: number | null;
  /** For a reversal: the event it reverses, who requested it, and numbers of the achievements it took or gave back. */
  reverses: string | null;
  reversedBy: string | null;
  who: string | null;
  achievementNos: number[];
}

/** A stored award. `cause`: the ID with which its own begins. */
export interface TimelineAwardRow extends StoredAward {
  cause: string;
  systemNo: number;
  /** `YYYY-MM-DD`. */
  localDate: string;
  catalogVersion: number | null;
}

export interface TimelineCompletionRow {
  achievementNo: number;
  at: Date;
  /** `null` if older than the recording of causes. */
  causedBy: string | null;
  catalogVersion: number | null;
  backdated: boolean;
}

/** Those of some IDs that are events of the user. */
export async function eventsOf(
  pool: Pool,
  { tenantNo, userId }: NamedUser,
  ids: readonly string[],
): Promise<TimelineEventRow[]> {
  const { rows } = await pool.query<TimelineEventRow>(
    `SELECT events.id::text, metric_no AS "metricNo", value::float8, total::float8, at, local_date::text AS "localDate",
            occurred_at AS "occurredAt", attributes,
            idempotency_key AS "idempotencyKey", streak, catalog_version::float8 AS "catalogVersion",
            reverses::text, later.id::text AS "reversedBy",
            (SELECT who FROM audit_log
              WHERE reverses IS NOT NULL AND audit_log.tenant_no = $1 AND about_user = $2 AND action = 'reverse'
                AND after ->> 'reversalId' = events.id::text LIMIT 1) AS who,
            ARRAY(SELECT (taken.completion ->> 0)::int FROM reversals AS own, jsonb_array_elements(own.revoked) AS taken (completion)
                   WHERE own.id = events.id AND reverses IS NOT NULL) AS "achievementNos"
       FROM events LEFT JOIN LATERAL (
         SELECT id FROM reversals WHERE reversals.reversed_id = events.id AND reversals.root_id = coalesce(
           (SELECT root_id FROM reversals AS own WHERE own.id = events.id), events.id) LIMIT 1) AS later ON true
      WHERE events.id = ANY ($3::uuid[]) AND events.tenant_no = $1 AND events.user_id = $2`,
    [tenantNo, storableText(userId), ids],
  );
  return rows;
}

/** Parameters: tenant, user, causes, and a window of whole partitions that contains them (`windowAround`). */
export const AWARDS_OF_CAUSES = `
  WITH RECURSIVE ${userSystems({ from: '$4', to: '$5' })}
  SELECT award.id::text, cause.id::text AS cause, system_no AS "systemNo", trigger_no AS "triggerNo", awarded::float8,
         total::float8, coalesce(boost_nos, '{}') AS "boostNos", at, local_date::text AS "localDate",
         catalog_version::float8 AS "catalogVersion"
    FROM unnest($3::uuid[]) AS cause (id) CROSS JOIN system CROSS JOIN LATERAL (
      SELECT * FROM awards
       WHERE tenant_no = $1 AND user_id = $2 AND system_no = system.no
         AND id >= $4::uuid AND id < $5::uuid AND id > cause.id AND id <= (left(cause.id::text, 32) || 'ffff')::uuid) AS award
   ORDER BY award.id`;

/** The user's awards from some causes, in order. */
export async function awardsOf(
  pool: Pool,
  { tenantNo, userId }: NamedUser,
  causes: readonly string[],
): Promise<TimelineAwardRow[]> {
  if (causes.length === 0) return [];
  const { fromId, toId } = await windowAround(pool, causes);
  const values = [tenantNo, storableText(userId), causes, fromId, toId];
  const { rows } = await pool.query<TimelineAwardRow>(AWARDS_OF_CAUSES, values);
  return rows;
}

/** All completions of the user: one for each achievement, or for each period of a repeating one. */
export async function completionsOf(pool: Pool, { tenantNo, userId }: NamedUser): Promise<TimelineCompletionRow[]> {
  const { rows } = await pool.query<TimelineCompletionRow>(
    `SELECT achievement_no AS "achievementNo", at, caused_by::text AS "causedBy",
            catalog_version::float8 AS "catalogVersion", backdated
       FROM completions WHERE tenant_no = $1 AND user_id = $2 ORDER BY achievement_no, period`,
    [tenantNo, storableText(userId)],
  );
  return rows;
}

const CAUSES_IN_WINDOW = 'id >= $6::uuid AND id < $7::uuid';

/** SQL: from the last award found to the next one with another cause. */
const next = (newest: boolean, bound: string, other: string): string => `
  (SELECT id FROM awards
    WHERE tenant_no = $1 AND user_id = $2 AND system_no = system.no AND id ${newest ? '<' : '>'} ${bound} AND ${other} AND ${CAUSES_IN_WINDOW}
    ORDER BY id ${newest ? 'DESC' : ''} LIMIT 1)`;

/** Parameters: tenant, user, the IDs above and below, limit, a window of whole partitions (`idWindows`). */
export function awardCausesStatement(newest: boolean): string {
  const [from, other] = newest ? ['$4::uuid', 'id > $3::uuid'] : ['$3::uuid', 'id < $4::uuid'];
  const behind = `(left(found.id::text, 32) || '${newest ? '0000' : 'ffff'}')::uuid`;
  return `
  WITH RECURSIVE ${userSystems({ from: '$6', to: '$7' })}, found (no, id, n) AS (
    SELECT system.no, ${next(newest, from, other)}, 1 FROM system
    UNION ALL
    SELECT system.no, ${next(newest, behind, other)}, found.n + 1
      FROM found AS found JOIN system ON system.no = found.no WHERE found.id IS NOT NULL AND found.n < $5
  )
  SELECT DISTINCT left(id::text, 32) || '0000' AS cause FROM found WHERE id IS NOT NULL
   ORDER BY cause ${newest ? 'DESC' : ''} LIMIT $5`;
}

/** Causes of the user's awards, by the start of the awards' IDs. One index step each, per points system. */
export function awardCauses(pool: Pool, { tenantNo, userId, ...range }: TimelineRange): Promise<string[]> {
  const { above, below, newest } = range;
  return idsByWindows(pool, range, async ({ fromId, toId }, limit) => {
    const { rows } = await pool.query<{ cause: string }>(awardCausesStatement(newest), [
      tenantNo,
      storableText(userId),
      lastAwardOf(above),
      below,
      limit,
      fromId,
      toId,
    ]);
    return rows.map(({ cause }) => cause);
  });
}
