import type { Pool } from 'pg';
import { GUARD } from '../../packed/guard-fields.ts';
import { storableText } from '../storable-json.ts';

const GUARD_WORDS = Object.fromEntries(Object.entries(GUARD).map(([name, no]) => [no, name]));

export interface UserTable {
  table: string;
  /** The column with the user's ID; `tenant_no` has the tenant. */
  user: 'user_id' | 'id' | 'about_user';
  /** The section of a user's export; `null` if the rows are exported in another form (see there). */
  section: string | null;
  /** Order of a user's rows. Must be unique; preferably the rest of an index on tenant and user. */
  order: readonly string[];
  hidden?: readonly string[];
  /** Columns whose numbers stand for words. */
  words?: Readonly<Record<string, Readonly<Record<number, string>>>>;
  /** After the user's deletion, rows stay under a made-up ID that nobody has. */
  anonymised?: true;
  /** Columns that are emptied then. */
  emptied?: readonly string[];
  /** After the user's deletion, rows stay unchanged. */
  kept?: true;
  /** False: deleted immediately with the user, instead of by the persister after earlier entries. */
  persisted?: false;
  /** Deleted together with the user's events, by their IDs (`deleteEvents`). */
  withEvents?: true;
  /** Deleted with what it counts for (`deleteClaims`). */
  withCounts?: true;
}

/** Meaningless in an export; a timeline shows the rule itself. */
const VERSION = ['catalog_version'];

/**
 * Every table with rows about users. Deletion and export cover only the tables listed here; a test compares the list with the
 * database. `board_snapshot_parts` also contains users, packed together with others.
 */
export const USER_TABLES: readonly UserTable[] = [
  { table: 'users', user: 'id', section: null, order: ['id'] },
  { table: 'events', user: 'user_id', section: 'events', order: ['metric_no', 'local_date', 'id'], hidden: VERSION },
  // Remains of dropped events and awards; for users with many, the sums of all.
  {
    table: 'event_days',
    user: 'user_id',
    section: 'eventDays',
    order: ['attributes_hash', 'metric_no', 'local_date'],
    hidden: ['attributes_hash'],
  },
  { table: 'award_days', user: 'user_id', section: 'awardDays', order: ['system_no', 'local_date'] },
  { table: 'summed_users', user: 'user_id', section: null, order: [] },
  // The export shows the keys together with their events.
  { table: 'used_keys', user: 'user_id', section: null, order: ['id'], withEvents: true },
  {
    table: 'quarantine',
    user: 'user_id',
    section: 'quarantine',
    order: ['id'],
    words: { guard: GUARD_WORDS, status: { 1: 'waiting', 2: 'released', 3: 'dropped' } },
  },
  {
    table: 'balance_changes',
    user: 'user_id',
    section: 'spendings',
    order: ['id'],
    hidden: ['metric_no'],
    words: { kind: { 1: 'spend', 2: 'hold', 3: 'capture', 4: 'release', 5: 'refund', 6: 'expire' } },
  },
  {
    table: 'reward_claims',
    user: 'user_id',
    section: 'claims',
    order: ['id'],
    hidden: ['refund_due', 'reported'],
    words: { state: { 0: 'reserved', 1: 'claimed', 2: 'fulfilled', 3: 'cancelled' } },
    withCounts: true,
  },
  {
    table: 'guard_counts',
    user: 'user_id',
    section: 'guards',
    order: ['metric_no', 'guard'],
    words: { guard: GUARD_WORDS },
  },
  { table: 'reversals', user: 'user_id', section: 'reversals', order: ['no'], hidden: ['no', 'awards'] },
  // Plans and effects of recomputations.
  {
    table: 'recomputed_users',
    user: 'user_id',
    section: 'recomputations',
    order: ['recomputation_no'],
    hidden: ['created_ms'],
  },
  { table: 'awards', user: 'user_id', section: 'awards', order: ['system_no', 'id'], hidden: VERSION },
  {
    table: 'completions',
    user: 'user_id',
    section: 'completions',
    order: ['achievement_no', 'period'],
    hidden: VERSION,
  },
  // Copies of the tenant's latest completions and, only while history is being counted, each day's active users.
  { table: 'newest_completions', user: 'user_id', section: null, order: ['no'] },
  // Only while a leaderboard is being filled.
  { table: 'board_past_scores', user: 'user_id', section: null, order: ['board_no', 'run_day'] },
  // Final ranks of ended runs. Other users keep theirs.
  {
    table: 'board_finals',
    user: 'user_id',
    section: null,
    order: ['group_id'],
    anonymised: true,
    emptied: ['metadata'],
  },
  // Users who were merged into this one.
  { table: 'user_merges', user: 'user_id', section: 'merges', order: ['id'], hidden: ['answer'] },
  { table: 'merged_keys', user: 'user_id', section: null, order: ['id'] },
  { table: 'rank_rewards', user: 'user_id', section: 'rankRewards', order: ['board_no', 'run_day'] },
  { table: 'league_tiers', user: 'user_id', section: 'leagueTiers', order: ['board_no'] },
  {
    table: 'league_members',
    user: 'user_id',
    section: 'leagueCohorts',
    order: ['board_no', 'run_day'],
    hidden: ['no', 'shard'],
  },
  {
    table: 'league_moves',
    user: 'user_id',
    section: 'leagueMoves',
    order: ['board_no', 'run_day'],
    hidden: ['no', 'is_reported'],
  },
  {
    table: 'streak_changes',
    user: 'user_id',
    section: 'streakChanges',
    order: ['frequency', 'to_day', 'no'],
    hidden: ['no'],
    words: {
      frequency: { 0: 'none', 1: 'daily', 2: 'weekly', 3: 'monthly' },
      kind: {
        1: 'freeze',
        2: 'pause',
        3: 'lost',
        4: 'restored',
        5: 'replaced',
        6: 'dayOff',
        7: 'reset',
        8: 'freezesEarned',
        9: 'freezesGiven',
        10: 'zoneChanged',
      },
    },
  },
  // Differences between Redis and Postgres, which are no data of the user.
  { table: 'verification_differences', user: 'user_id', section: null, order: ['job_no', 'key', 'part'] },
  { table: 'streak_pauses', user: 'user_id', section: 'streakPauses', order: ['id'] },
  // Pending and last notifications, which derive from the user's state.
  { table: 'notification_windows', user: 'user_id', section: null, order: ['subject'] },
  { table: 'notification_places', user: 'user_id', section: null, order: ['board_id'] },
  { table: 'notification_completions', user: 'user_id', section: null, order: ['achievement_no'] },
  { table: 'notification_boosts', user: 'user_id', section: null, order: ['boost_no', 'type'] },
  { table: 'notification_moves', user: 'user_id', section: null, order: [] },
  { table: 'notification_emails', user: 'user_id', section: 'emailsDue', order: ['kind'] },
  {
    table: 'email_messages',
    user: 'user_id',
    section: 'emails',
    order: ['id'],
    hidden: ['begun_ms', 'local_day', 'feedback_ms'],
  },
  { table: 'message_suppressions', user: 'user_id', section: 'suppressedAddresses', order: ['address'] },
  {
    table: 'application_keys',
    user: 'user_id',
    section: 'applicationKeys',
    order: ['id'],
    hidden: ['hash'],
    persisted: false,
  },
  // Messages about leaderboards also name users; they are deleted with the log.
  {
    table: 'webhook_messages',
    user: 'user_id',
    section: 'webhookMessages',
    order: ['sequence', 'webhook_id', 'day'],
    hidden: ['day', 'failed'],
  },
  // Kept because it answers who deleted whom; AUDIT_RETENTION_DAYS limits it.
  {
    table: 'audit_log',
    user: 'about_user',
    section: 'auditLog',
    order: ['no'],
    hidden: ['no', 'who', 'address', 'request_id', 'version'],
    kept: true,
  },
];

const PAGE = 250;

/** A user's rows in a table, page by page. Keeps at most one page in memory, and no connection between pages. */
export async function* userRows(
  pool: Pool,
  { table, user, order }: UserTable,
  tenantNo: number,
  userId: string,
): AsyncGenerator<Record<string, unknown>[]> {
  const columns = order.join(', ');
  const after = order.map((_, index) => `$${index + 3}`).join(', ');
  let last: unknown[] | null = null;
  for (;;) {
    const { rows }: { rows: Record<string, unknown>[] } = await pool.query(
      `SELECT * FROM ${table} WHERE tenant_no = $1 AND ${user} = $2 ${last === null ? '' : `AND (${columns}) > (${after})`}
        ORDER BY ${columns} LIMIT ${PAGE}`,
      [tenantNo, storableText(userId), ...(last ?? [])],
    );
    if (rows.length > 0) yield rows;
    const end = rows.at(-1);
    if (end === undefined || rows.length < PAGE) return;
    last = order.map((column) => end[column]);
  }
}

/** Names of a tenant's resources by number: key, name or type. Includes deleted ones. */
export async function resourceNames(pool: Pool, tenantNo: number): Promise<Map<number, string>> {
  const { rows } = await pool.query<{ no: number; name: string | null }>(
    `SELECT no, coalesce(doc ->> 'key', doc ->> 'name', doc ->> 'type') AS name FROM catalog_resources WHERE tenant_no = $1`,
    [tenantNo],
  );
  return new Map(rows.map(({ no, name }) => [no, name ?? String(no)]));
}
