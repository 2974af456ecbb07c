/** Moves the rows of a user who was merged into another, and the record of merges. */
import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import { countCredentialChange } from '../revisions.ts';
import { sumUsers } from '../persist/day-sums.ts';
import { storableText } from '../storable-json.ts';
import { addRowMove, hasManyRows, type Merged, ROW_MOVES } from './row-moves.ts';
import { ofPart, type Share } from './stored-states.ts';

/** An idempotency key that a user has used. */
export interface OwnKey {
  metricNo: number;
  key: string;
  /** What used it: an event or a change of a balance, 32 hex digits. */
  usedBy: string;
  /** Whether a row other than that of an event has the key; see `merged_keys`. */
  isListed: boolean;
}

/** Where a user's used keys are: those of stored events, of dropped ones, of other rows, and of users merged into this one. */
const KEYS = `
  SELECT metric_no, idempotency_key, id, false AS is_listed FROM events
   WHERE tenant_no = $1 AND user_id = $2 AND idempotency_key IS NOT NULL
  UNION ALL
  SELECT metric_no, idempotency_key, id, false FROM used_keys
   WHERE tenant_no = $1 AND user_id = $2
     AND id < (SELECT end_id FROM event_partitions WHERE is_dropped ORDER BY end_day DESC LIMIT 1)
  UNION ALL
  SELECT metric_no, idempotency_key, id, true FROM quarantine
   WHERE tenant_no = $1 AND user_id = $2 AND idempotency_key IS NOT NULL
  UNION ALL
  SELECT metric_no, idempotency_key, id, true FROM balance_changes
   WHERE tenant_no = $1 AND user_id = $2 AND idempotency_key IS NOT NULL
  UNION ALL
  SELECT metric_no, idempotency_key, used_by, is_listed FROM merged_keys WHERE tenant_no = $1 AND user_id = $2`;

/**
 * The used keys that `from` brings to `into`: those that `into` has not used as well. In the order of what used them; one that several
 * rows have is that of the first. `most`: at most this many.
 */
export async function keysToMove(
  client: Pool | PoolClient,
  { tenantNo, from, into }: Merged,
  most = 1_000_000,
): Promise<OwnKey[]> {
  const { rows } = await client.query<OwnKey>(
    `WITH own AS MATERIALIZED (
       SELECT DISTINCT ON (metric_no, idempotency_key) metric_no, idempotency_key, id, is_listed FROM (${KEYS}) AS used
        ORDER BY metric_no, idempotency_key, is_listed DESC, id LIMIT $4
     )
     SELECT own.metric_no AS "metricNo", own.idempotency_key AS key, replace(own.id::text, '-', '') AS "usedBy",
            own.is_listed AS "isListed"
       FROM own
      WHERE NOT EXISTS (
        SELECT FROM (${KEYS.replaceAll('$2', '$3')}) AS other
         WHERE other.metric_no = own.metric_no AND other.idempotency_key = own.idempotency_key)
      ORDER BY own.id`,
    [tenantNo, storableText(from), storableText(into), most],
  );
  return rows;
}

/** All used keys of a user, in no order; may repeat some. */
export async function usedKeysOf(
  client: PoolClient,
  tenantNo: number,
  userId: string,
): Promise<Pick<OwnKey, 'metricNo' | 'key'>[]> {
  const { rows } = await client.query<Pick<OwnKey, 'metricNo' | 'key'>>(
    `SELECT metric_no AS "metricNo", idempotency_key AS key FROM (${KEYS}) AS used`,
    [tenantNo, storableText(userId)],
  );
  return rows;
}

/** A key as the remaining user's; `id`: made for that user, 32 hex digits. */
export type MovedKey = OwnKey & { id: string };

const KEY = columns<MovedKey>({
  id: 'uuid',
  metricNo: 'int',
  key: ['text', 'idempotency_key'],
  usedBy: 'uuid',
  isListed: 'boolean',
});
const INSERT_KEYS = `${KEY.insertInto('merged_keys', ['tenant_no', 'user_id'])} ON CONFLICT DO NOTHING`;

export async function insertMergedKeys(
  client: PoolClient,
  { tenantNo, into }: Merged,
  keys: readonly MovedKey[],
): Promise<void> {
  if (keys.length === 0) return;
  await client.query(INSERT_KEYS, [tenantNo, storableText(into), ...KEY.arrays(keys)]);
}

/**
 * Removes the keys that both users have from the rows of `from` beside events: the key is that of the row of `into`. `moved`: the keys that
 * only `from` has.
 */
export async function dropSharedKeys(
  client: PoolClient,
  { tenantNo, from }: Merged,
  moved: readonly OwnKey[],
): Promise<void> {
  const values = [tenantNo, storableText(from), moved.map(({ metricNo }) => metricNo), moved.map(({ key }) => key)];
  for (const table of ['quarantine', 'balance_changes'])
    await client.query(
      `UPDATE ${table} SET idempotency_key = NULL
        WHERE tenant_no = $1 AND user_id = $2 AND idempotency_key IS NOT NULL
          AND (metric_no, idempotency_key) NOT IN (SELECT * FROM unnest($3::int[], $4::text[]))`,
      values,
    );
}

/** What used a key of a merged user, by the ID that was made for the remaining one; `null` for other IDs. 32 hex digits each. */
export async function usedByMerged(pool: Pool, id: string): Promise<string | null> {
  const { rows } = await pool.query<{ usedBy: string }>(
    `SELECT replace(used_by::text, '-', '') AS "usedBy" FROM merged_keys WHERE id = $1`,
    [id],
  );
  return rows[0]?.usedBy ?? null;
}

/** SQL: whether `into` has a row of the table with the same values in some columns. `kept` and `moved` are rows of one table. */
const same = (columns: readonly string[]): string =>
  ['kept.tenant_no = $1', 'kept.user_id = $3', ...columns.map((column) => `kept.${column} = moved.${column}`)].join(
    ' AND ',
  );

const ofFrom = 'moved.tenant_no = $1 AND moved.user_id = $2';

const rename = (table: string): string => `UPDATE ${table} SET user_id = $3 WHERE tenant_no = $1 AND user_id = $2`;
const dropOf = (table: string): string => `DELETE FROM ${table} WHERE tenant_no = $1 AND user_id = $2`;
/** Drops rows of `from` that `into` has as well. */
const dropSame = (table: string, columns: readonly string[]): string =>
  `DELETE FROM ${table} AS moved USING ${table} AS kept WHERE ${ofFrom} AND ${same(columns)}`;

/** The earlier of two completions of an achievement, or of a period of a repeating one, is kept. */
const EARLIER = `
  UPDATE completions AS kept SET at = moved.at, caused_by = moved.caused_by, catalog_version = moved.catalog_version,
         backdated = moved.backdated
    FROM completions AS moved
   WHERE ${ofFrom} AND ${same(['achievement_no', 'period'])} AND moved.at < kept.at`;

const GUARDS = [
  `INSERT INTO guard_counts (tenant_no, user_id, metric_no, guard, refused, clamped, quarantined, last)
   SELECT tenant_no, $3, metric_no, guard, refused, clamped, quarantined, last
     FROM guard_counts WHERE tenant_no = $1 AND user_id = $2
   ON CONFLICT (tenant_no, user_id, metric_no, guard) DO UPDATE
     SET refused = guard_counts.refused + EXCLUDED.refused, clamped = guard_counts.clamped + EXCLUDED.clamped,
         quarantined = guard_counts.quarantined + EXCLUDED.quarantined, last = greatest(guard_counts.last, EXCLUDED.last)`,
  dropOf('guard_counts'),
];

/** SQL: whether `into` has a place in the run that `run` gives. */
const hasPlaceIn = (run: string): string => `EXISTS (
     SELECT FROM board_finals AS kept JOIN board_run_groups AS other ON other.id = kept.group_id
      WHERE kept.tenant_no = $1 AND kept.user_id = $3 AND other.run_id = ${run})`;

/** What `from` got for a rank that is no longer shown. */
const SECOND_REWARDS = `
  DELETE FROM rank_rewards AS moved USING board_runs AS run
   WHERE ${ofFrom} AND run.tenant_no = $1 AND run.board_no = moved.board_no AND run.run_day = moved.run_day
     AND ${hasPlaceIn('run.id')}`;

/** A place of `from` in a final run in which `into` has one stays under a made-up ID, so that the ranks of others do not change. */
const SECOND_PLACES = `
  UPDATE board_finals AS moved SET user_id = 'deleted:' || gen_random_uuid(), metadata = NULL
    FROM board_run_groups AS own
   WHERE ${ofFrom} AND own.id = moved.group_id AND ${hasPlaceIn('own.run_id')}`;

const HIGHER_TIER = `
  UPDATE league_tiers AS kept SET tier = moved.tier FROM league_tiers AS moved
   WHERE ${ofFrom} AND ${same(['board_no'])} AND moved.tier > kept.tier`;

/**
 * What happens to the rows of `from`, in order. Parameters: tenant, `from`, `into`. `USER_TABLES` lists the tables; a test compares the two
 * lists.
 */
export const MOVES: readonly string[] = [
  'DELETE FROM users WHERE tenant_no = $1 AND id = $2',
  ...ROW_MOVES,
  ...GUARDS,
  // `merged_keys` has them now.
  dropOf('merged_keys'),
  rename('quarantine'),
  rename('balance_changes'),
  `UPDATE reward_claims AS moved SET idempotency_key = NULL
     FROM reward_claims AS kept WHERE ${ofFrom} AND ${same(['idempotency_key'])}`,
  rename('reward_claims'),
  rename('reversals'),
  EARLIER,
  dropSame('completions', ['achievement_no', 'period']),
  rename('completions'),
  rename('newest_completions'),
  SECOND_REWARDS,
  SECOND_PLACES,
  rename('board_finals'),
  dropSame('rank_rewards', ['board_no', 'run_day']),
  rename('rank_rewards'),
  HIGHER_TIER,
  dropSame('league_tiers', ['board_no']),
  rename('league_tiers'),
  dropSame('league_members', ['board_no', 'run_day']),
  rename('league_members'),
  dropSame('league_moves', ['board_no', 'run_day']),
  rename('league_moves'),
  rename('streak_pauses'),
  dropSame('notification_emails', ['kind']),
  rename('notification_emails'),
  rename('email_messages'),
  rename('message_suppressions'),
  rename('user_merges'),
  // A plan for a user who is gone, and what derives from states.
  ...[
    'recomputed_users',
    'board_past_scores',
    'verification_differences',
    'notification_windows',
    'notification_places',
    'notification_completions',
    'notification_boosts',
    'notification_moves',
  ].map(dropOf),
];

/**
 * Moves the rows of `from` to `into`, by the rule of each table, in the client's transaction; if there are very many, a job moves most of
 * them. `id`: that of the merge. `streaks`: whose streak changes hold.
 */
export async function moveUser(
  client: PoolClient,
  merged: Merged & { id: string },
  streaks: 'from' | 'into',
): Promise<void> {
  const { tenantNo } = merged;
  const values = [tenantNo, storableText(merged.from), storableText(merged.into)];
  const isLarge = await hasManyRows(client, merged);
  if (isLarge) await addRowMove(client, merged);
  else await equaliseSums(client, merged);
  await client.query(
    `DELETE FROM used_keys WHERE id = ANY (ARRAY(
       SELECT id FROM events WHERE tenant_no = $1 AND user_id = $2 AND idempotency_key IS NOT NULL))`,
    values.slice(0, 2),
  );
  await client.query(
    `DELETE FROM used_keys WHERE tenant_no = $1 AND user_id = $2
        AND id < (SELECT end_id FROM event_partitions WHERE is_dropped ORDER BY end_day DESC LIMIT 1)`,
    values.slice(0, 2),
  );
  for (const statement of MOVES)
    if (!isLarge || !ROW_MOVES.includes(statement)) await client.query(statement, used(statement, values));
  await client.query(dropOf('streak_changes'), [tenantNo, values[streaks === 'into' ? 1 : 2]]);
  await client.query(rename('streak_changes'), values);
  const { rows } = await client.query<{ prefix: string }>(`${rename('application_keys')} RETURNING prefix`, values);
  const prefixes = rows.map(({ prefix }) => prefix);
  if (prefixes.length > 0) await countCredentialChange(client, prefixes);
}

/** Only the values that a statement names. */
const used = (statement: string, values: readonly unknown[]): unknown[] =>
  values.slice(0, statement.includes('$3') ? 3 : 2);

/** If one of the two has sums of days, the other gets them as well, so that they can be added. */
async function equaliseSums(client: PoolClient, { tenantNo, from, into }: Merged): Promise<void> {
  const ids = [from, into].map((id) => storableText(id));
  const { rows } = await client.query<{ id: string }>(
    'SELECT user_id AS id FROM summed_users WHERE tenant_no = $1 AND user_id = ANY ($2)',
    [tenantNo, ids],
  );
  if (rows.length !== 1) return;
  const other = ids.find((id) => id !== rows[0]!.id)!;
  await sumUsers(client, [{ tenantNo, userId: other }], 0);
}

/** A stored merge. */
export interface MergeRow<A = unknown> {
  id: string;
  oldId: string;
  intoId: string;
  atMs: number;
  answer: A;
}

export async function insertMerge(
  client: PoolClient,
  { tenantNo, from, into }: Merged,
  { id, atMs, answer }: { id: string; atMs: number; answer: string },
): Promise<void> {
  await client.query(
    `INSERT INTO user_merges (id, tenant_no, user_id, old_id, into_id, at, answer)
     VALUES ($1, $2, $3, $4, $3, to_timestamp($5 / 1000.0), $6)
     ON CONFLICT (tenant_no, old_id) DO UPDATE
       SET id = EXCLUDED.id, user_id = EXCLUDED.user_id, into_id = EXCLUDED.into_id, at = EXCLUDED.at, answer = EXCLUDED.answer`,
    [id, tenantNo, storableText(into), storableText(from), atMs, answer],
  );
}

const COLUMNS = `replace(id::text, '-', '') AS id, old_id AS "oldId", into_id AS "intoId",
                 (extract(epoch FROM at) * 1000)::float8 AS "atMs", answer`;

/** The merge in which a user went. */
export async function mergeOf(pool: Pool, tenantNo: number, oldId: string): Promise<MergeRow | null> {
  const { rows } = await pool.query<MergeRow>(
    `SELECT ${COLUMNS} FROM user_merges WHERE tenant_no = $1 AND old_id = $2`,
    [tenantNo, storableText(oldId)],
  );
  return rows[0] ?? null;
}

/** The user into whom one was merged, which stays so during the transaction; `null` for none. */
export async function lockMergeOf(client: PoolClient, tenantNo: number, oldId: string): Promise<string | null> {
  const { rows } = await client.query<{ intoId: string }>(
    `SELECT into_id AS "intoId" FROM user_merges WHERE tenant_no = $1 AND old_id = $2 FOR SHARE`,
    [tenantNo, storableText(oldId)],
  );
  return rows[0]?.intoId ?? null;
}

/** The merges whose users a user has become, oldest first. `lock`: see `lockMergeOf`. */
export async function mergesInto(
  client: Pool | PoolClient,
  { tenantNo, userId }: { tenantNo: number; userId: string },
  { lock = false } = {},
): Promise<MergeRow[]> {
  const { rows } = await client.query<MergeRow>(
    `SELECT ${COLUMNS} FROM user_merges WHERE tenant_no = $1 AND user_id = $2 ORDER BY id ${lock ? 'FOR UPDATE' : ''}`,
    [tenantNo, storableText(userId)],
  );
  return rows;
}

/** Numbers of tenants with merged users. */
export async function tenantsWithMerges(pool: Pool): Promise<number[]> {
  const { rows } = await pool.query<{ no: number }>('SELECT no FROM tenants WHERE has_merges ORDER BY no');
  return rows.map(({ no }) => no);
}

const PAGE = 5_000;

/** The IDs of a tenant that stand for others, with those; page by page. */
export async function* readAliases(pool: Pool, tenantNo: number): AsyncGenerator<{ oldId: string; userId: string }[]> {
  let after = '';
  for (;;) {
    const { rows } = await pool.query<{ oldId: string; userId: string }>(
      `SELECT old_id AS "oldId", user_id AS "userId" FROM user_merges
        WHERE tenant_no = $1 AND old_id > $2 ORDER BY old_id LIMIT ${PAGE}`,
      [tenantNo, after],
    );
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.oldId;
  }
}

/** How many IDs of a share of a tenant's users stand for others. */
export async function countAliases(pool: Pool, { tenantNo, spread, index }: Share): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `SELECT count(*)::float8 AS n FROM user_merges WHERE tenant_no = $1 AND ${ofPart('old_id')}`,
    [tenantNo, spread, index],
  );
  return rows[0]!.n;
}

interface OfUser {
  tenantNo: number;
  userId: string;
}

/** The first local day (epoch day) with events of a user; `null` if there are none. */
export async function firstEventDay(client: PoolClient, { tenantNo, userId }: OfUser): Promise<number | null> {
  const { rows } = await client.query<{ day: number | null }>(
    `SELECT least((SELECT min(local_date) FROM events WHERE tenant_no = $1 AND user_id = $2),
                  (SELECT min(local_date) FROM event_days WHERE tenant_no = $1 AND user_id = $2)) - DATE '1970-01-01' AS day`,
    [tenantNo, storableText(userId)],
  );
  return rows[0]!.day;
}

export async function hasMoreEvents(client: PoolClient, { tenantNo, userId }: OfUser, most: number): Promise<boolean> {
  const { rows } = await client.query<{ more: boolean }>(
    `SELECT count(*) > $3 AS more FROM (
       SELECT FROM events WHERE tenant_no = $1 AND user_id = $2 LIMIT $3 + 1) AS first_ones`,
    [tenantNo, storableText(userId), most],
  );
  return rows[0]!.more;
}

/** Of each repeating achievement that either of two users completed: the number of periods, and the latest completion (epoch ms). */
export async function questsOfBoth(
  client: PoolClient,
  { tenantNo, from, into }: Merged,
): Promise<Map<number, { times: number; latestMs: number }>> {
  const { rows } = await client.query<{ no: number; times: number; latestMs: number }>(
    `SELECT achievement_no AS no, count(*)::int AS times, (extract(epoch FROM max(at)) * 1000)::float8 AS "latestMs" FROM (
       SELECT achievement_no, period, min(at) AS at FROM completions
        WHERE tenant_no = $1 AND user_id = ANY ($2) AND period <> 0 GROUP BY achievement_no, period) AS once
      GROUP BY achievement_no`,
    [tenantNo, [storableText(from), storableText(into)]],
  );
  return new Map(rows.map(({ no, times, latestMs }) => [no, { times, latestMs: Math.round(latestMs) }]));
}
