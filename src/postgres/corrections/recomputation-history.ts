import type { PoolClient } from 'pg';
import type { TriggerType } from '../../domain/rule-kinds.ts';
import { dateOf } from '../../domain/periods.ts';
import type { PackedCompletion } from '../../packed/record.ts';
import { COMPLETION } from '../persist/events.ts';

export interface ReadUsers {
  tenantNo: number;
  ids: readonly string[];
}

/** The users whose awards to read. For imported users: only awards after the import (epoch ms, by user ID). */
interface ReadAwards extends ReadUsers {
  importedMs: ReadonlyMap<string, number>;
}

export interface HistoryEvent {
  userId: string;
  /** 32 hex digits. */
  id: string;
  metricNo: number;
  /** Decimal text. */
  value: string;
  /** When it was applied, epoch ms. */
  atMs: number;
  /** Local day (epoch day) on which it happened. */
  day: number;
  /** Whether the event has an `occurredAt`. Its awards count on the day of its arrival. */
  isDated: boolean;
  attributes: Record<string, string> | null;
  /** Streak length that it caused; `null` if it did not extend the streak. */
  streak: number | null;
}

/** Sum that a trigger awarded in a segment of time. */
export interface AwardSum {
  userId: string;
  systemNo: number;
  triggerNo: number;
  /** Number of bounds at or before this segment. */
  segment: number;
  awarded: number;
}

export interface FixedAward {
  userId: string;
  systemNo: number;
  awarded: number;
  atMs: number;
}

const EVENTS_A_FETCH = 5_000;

/** SQL: whether an award was not imported. $4 and $5 are the users and times of `importedMs`. */
const EARNED_HERE = `NOT EXISTS (
         SELECT FROM unnest($4::text[], $5::float8[]) AS imported (id, until_ms)
          WHERE imported.id = awards.user_id AND epoch_ms(awards.at) <= imported.until_ms)`;

/**
 * Streams the events that count, grouped by user in the order of IDs, as they were applied: those of some metrics and, with
 * `streaks`, all that extended a streak. Excludes reversed events, reversals and imported days.
 */
export async function eachEvent(
  client: PoolClient,
  { tenantNo, ids, metricNos, streaks }: ReadUsers & { metricNos: readonly number[]; streaks: boolean },
  onEvent: (event: HistoryEvent) => void,
): Promise<void> {
  const gone = await reversedEvents(client, { tenantNo, ids });
  await client.query(
    `DECLARE history NO SCROLL CURSOR FOR
     SELECT user_id AS "userId", replace(id::text, '-', '') AS id, metric_no AS "metricNo", value::text AS value,
            epoch_ms(at)::float8 AS "atMs", local_date - DATE '1970-01-01' AS day, occurred_at IS NOT NULL AS "isDated",
            attributes, streak
       FROM events
      WHERE tenant_no = $1 AND user_id = ANY ($2) AND reverses IS NULL AND NOT imported
        AND (metric_no = ANY ($3) OR ($4 AND streak IS NOT NULL))
      ORDER BY user_id, at, id`,
    [tenantNo, ids, metricNos, streaks],
  );
  for (;;) {
    const { rows } = await client.query<HistoryEvent>(`FETCH ${EVENTS_A_FETCH} FROM history`);
    for (const event of rows) if (!gone.has(event.id)) onEvent(event);
    if (rows.length < EVENTS_A_FETCH) break;
  }
  await client.query('CLOSE history');
}

/** The reversed events of some users, as 32 hex digits each. */
async function reversedEvents(client: PoolClient, { tenantNo, ids }: ReadUsers): Promise<Set<string>> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT replace(root_id::text, '-', '') AS id FROM reversals
      WHERE tenant_no = $1 AND user_id = ANY ($2) AND in_force`,
    [tenantNo, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Sums of what triggers awarded some users since a day (`YYYY-MM-DD`; `null` for all time), after corrections. `days` (epoch days,
 * ascending) divide the time into segments.
 */
export async function awardSums(
  client: PoolClient,
  { tenantNo, ids, since, importedMs, bounds }: ReadAwards & { since: string | null; bounds: readonly number[] },
): Promise<AwardSum[]> {
  const { rows } = await client.query<AwardSum>(
    `SELECT user_id AS "userId", system_no AS "systemNo", trigger_no AS "triggerNo",
            width_bucket(local_date, $6::date[]) AS segment, sum(awarded)::float8 AS awarded
       FROM awards WHERE tenant_no = $1 AND user_id = ANY ($2) AND ($3::date IS NULL OR local_date >= $3)
        AND ${EARNED_HERE}
      GROUP BY user_id, system_no, trigger_no, segment`,
    [tenantNo, ids, since, [...importedMs.keys()], [...importedMs.values()], bounds.map(dateOf)],
  );
  return rows;
}

/** Awards since a day from all but some triggers, in order. */
export async function fixedAwards(
  client: PoolClient,
  { tenantNo, ids, since, importedMs, except }: ReadAwards & { since: string | null; except: readonly number[] },
): Promise<FixedAward[]> {
  const { rows } = await client.query<FixedAward>(
    `SELECT user_id AS "userId", system_no AS "systemNo", awarded::float8 AS awarded, epoch_ms(at)::float8 AS "atMs"
       FROM awards
      WHERE tenant_no = $1 AND user_id = ANY ($2) AND ($3::date IS NULL OR local_date >= $3) AND ${EARNED_HERE}
        AND trigger_no <> ALL ($6)
      ORDER BY at, id`,
    [tenantNo, ids, since, [...importedMs.keys()], [...importedMs.values()], except],
  );
  return rows;
}

/** An award of a trigger, at a time. */
export interface TimedAward extends AwardSum {
  atMs: number;
}

/** What some triggers awarded some users, without what reversals in force have taken. `bounds`: see `awardSums`. */
export async function awardsOfTriggers(
  client: PoolClient,
  { tenantNo, ids, triggerNos, bounds }: ReadUsers & { triggerNos: readonly number[]; bounds: readonly number[] },
): Promise<TimedAward[]> {
  if (triggerNos.length === 0) return [];
  const { rows } = await client.query<TimedAward>(
    `SELECT user_id AS "userId", system_no AS "systemNo", trigger_no AS "triggerNo",
            width_bucket(local_date, $4::date[]) AS segment, awarded::float8 AS awarded, epoch_ms(at)::float8 AS "atMs"
       FROM awards WHERE tenant_no = $1 AND user_id = ANY ($2) AND trigger_no = ANY ($3)
        AND NOT EXISTS (
          SELECT FROM reversals r, jsonb_array_elements(r.awards) AS taken
           WHERE r.tenant_no = $1 AND r.user_id = awards.user_id AND r.in_force
             AND taken ->> 0 = replace(awards.id::text, '-', ''))
      ORDER BY at, id`,
    [tenantNo, ids, triggerNos, bounds.map(dateOf)],
  );
  return rows;
}

export async function completionsOf(
  client: PoolClient,
  { tenantNo, ids }: ReadUsers,
): Promise<{ userId: string; completion: PackedCompletion }[]> {
  const { rows } = await client.query<{ userId: string; completion: PackedCompletion }>(
    `SELECT user_id AS "userId", ${COMPLETION}
       FROM completions WHERE tenant_no = $1 AND user_id = ANY ($2) ORDER BY at, achievement_no`,
    [tenantNo, ids],
  );
  return rows;
}

/** Each user's longest streak of a frequency that was lost, reset or replaced. */
export async function longestEnded(
  client: PoolClient,
  { tenantNo, ids, frequencyNo, kinds }: ReadUsers & { frequencyNo: number; kinds: readonly number[] },
): Promise<Map<string, number>> {
  const { rows } = await client.query<{ userId: string; length: number }>(
    `SELECT user_id AS "userId", max(length) AS length FROM streak_changes
      WHERE tenant_no = $1 AND user_id = ANY ($2) AND frequency = $3 AND kind = ANY ($4) AND superseded_by IS NULL
      GROUP BY user_id`,
    [tenantNo, ids, frequencyNo, kinds],
  );
  return new Map(rows.map(({ userId, length }) => [userId, length]));
}

/**
 * Those users that have late events. Reads the users' own events: with an EXISTS per user, Postgres read all users' events once per
 * slice, 43 ms for 200,000 of them, with its parallel workers.
 */
export async function usersWithLateEvents(client: PoolClient, { tenantNo, ids }: ReadUsers): Promise<Set<string>> {
  const { rows } = await client.query<{ userId: string }>(
    `SELECT DISTINCT user_id AS "userId" FROM events
      WHERE tenant_no = $1 AND user_id = ANY ($2) AND occurred_at IS NOT NULL`,
    [tenantNo, ids],
  );
  return new Set(rows.map(({ userId }) => userId));
}

/** Triggers, including deleted ones, that award points for events and their consequences. */
export async function triggersOfEvents(
  client: PoolClient,
  tenantNo: number,
): Promise<{ no: number; type: TriggerType }[]> {
  const { rows } = await client.query<{ no: number; type: TriggerType }>(
    `SELECT no, doc ->> 'type' AS type FROM catalog_resources
      WHERE tenant_no = $1 AND kind = 'points_trigger' AND doc ->> 'type' NOT IN ('time', 'user_creation')
        AND doc ->> 'leaderboardId' IS NULL`,
    [tenantNo],
  );
  return rows;
}

/** The next users of a cohort after an ID, in the order of IDs, with their packed states. */
export async function cohortAfter(
  client: PoolClient,
  { tenantNo, cohort, after, limit }: { tenantNo: number; cohort: object; after: string; limit: number },
): Promise<{ id: string; state: Buffer }[]> {
  const { rows } = await client.query<{ id: string; state: Buffer }>(
    `SELECT id, state FROM users WHERE tenant_no = $1 AND id > $2 AND attributes @> $3 ORDER BY id LIMIT $4`,
    [tenantNo, after, JSON.stringify(cohort), limit],
  );
  return rows;
}

/** Sums of an imported user's events of a metric, as decimal text. */
interface ImportedSums {
  userId: string;
  metricNo: number;
  /** Sum of the events since the import. */
  since: string;
  /** Difference between the highest total at the end of an imported day and the total at the end of the import. */
  above: string;
}

/** Sums of imported users, by metric; metrics without rows are missing. Reversed events and days do not count. */
export async function importedSums(
  client: PoolClient,
  { tenantNo, ids, metricNos }: ReadUsers & { metricNos: readonly number[] },
): Promise<ImportedSums[]> {
  const { rows } = await client.query<ImportedSums>(
    `WITH counted AS (
       SELECT user_id, metric_no, imported, value,
              sum(value) FILTER (WHERE imported) OVER (PARTITION BY user_id, metric_no ORDER BY at DESC, id DESC) - value AS later
         FROM events
        WHERE tenant_no = $1 AND user_id = ANY ($2) AND metric_no = ANY ($3) AND reverses IS NULL
          AND NOT EXISTS (SELECT FROM reversals
                           WHERE reversals.tenant_no = $1 AND reversals.user_id = ANY ($2)
                             AND root_id = events.id AND in_force))
     SELECT user_id AS "userId", metric_no AS "metricNo",
            coalesce(sum(value) FILTER (WHERE NOT imported), 0)::text AS since,
            coalesce(-min(later) FILTER (WHERE imported), 0)::text AS above
       FROM counted GROUP BY user_id, metric_no`,
    [tenantNo, ids, metricNos],
  );
  return rows;
}
