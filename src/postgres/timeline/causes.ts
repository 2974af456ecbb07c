import type { Pool } from 'pg';
import { lastAwardOf } from '../../domain/administration/timeline.ts';
import { idsByWindows, windowAround } from '../partitions/id-windows.ts';
import { storableText } from '../storable-json.ts';
import { type TimelineRange, userSystems } from './entries.ts';

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
export interface TimelineAwardRow {
  id: string;
  cause: string;
  systemNo: number;
  triggerNo: number;
  awarded: number;
  total: number;
  boostNos: number[];
  at: Date;
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

interface OfUser {
  tenantNo: number;
  userId: string;
}

/** Those of some IDs that are events of the user. */
export async function eventsOf(
  pool: Pool,
  { tenantNo, userId }: OfUser,
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
  { tenantNo, userId }: OfUser,
  causes: readonly string[],
): Promise<TimelineAwardRow[]> {
  if (causes.length === 0) return [];
  const { fromId, toId } = await windowAround(pool, causes);
  const values = [tenantNo, storableText(userId), causes, fromId, toId];
  const { rows } = await pool.query<TimelineAwardRow>(AWARDS_OF_CAUSES, values);
  return rows;
}

/** All completions of the user; at most one per achievement. */
export async function completionsOf(pool: Pool, { tenantNo, userId }: OfUser): Promise<TimelineCompletionRow[]> {
  const { rows } = await pool.query<TimelineCompletionRow>(
    `SELECT achievement_no AS "achievementNo", at, caused_by::text AS "causedBy",
            catalog_version::float8 AS "catalogVersion", backdated
       FROM completions WHERE tenant_no = $1 AND user_id = $2 ORDER BY achievement_no`,
    [tenantNo, storableText(userId)],
  );
  return rows;
}

const IN_WINDOW = 'id >= $6::uuid AND id < $7::uuid';

/** SQL: from the last award found to the next one with another cause. */
const next = (newest: boolean, bound: string, other: string): string => `
  (SELECT id FROM awards
    WHERE tenant_no = $1 AND user_id = $2 AND system_no = system.no AND id ${newest ? '<' : '>'} ${bound} AND ${other} AND ${IN_WINDOW}
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
