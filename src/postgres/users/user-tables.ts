import { GUARD } from '../../packed/guard-fields.ts';

const GUARD_WORDS = Object.fromEntries(Object.entries(GUARD).map(([name, no]) => [no, name]));

/** A table that holds rows about single users. */
export interface UserTable {
  table: string;
  /** The column that names the user; the tenant is in `tenant_no`. */
  user: 'user_id' | 'id' | 'about_user';
  /** Which part of a user's export its rows are; null: exported otherwise (see there). */
  section: string | null;
  /** What orders a user's rows: distinct for each, best the rest of an index that begins with tenant and user. */
  order: readonly string[];
  /** Columns that the export leaves out besides tenant and user. */
  hidden?: readonly string[];
  /** Columns whose numbers stand for words. */
  words?: Readonly<Record<string, Readonly<Record<number, string>>>>;
  /** True: a deleted user's rows stay, under a made-up ID that nobody has. */
  anonymised?: true;
  /** True: a deleted user's rows stay as they are. */
  kept?: true;
  /** False: deleted with the user at once, not by the persister after what came before. */
  persisted?: false;
  /** True: deleted with the user's events, by their IDs (`deleteEvents`). */
  withEvents?: true;
}

/** Says nothing by itself: a timeline shows the rule. */
const VERSION = ['catalog_version'];

/**
 * Every table with rows about users, in one place: what is not listed here is neither deleted with a user nor
 * exported. A test compares it with the database. Packed with those of others, users are in
 * `board_snapshot_parts` besides.
 */
export const USER_TABLES: readonly UserTable[] = [
  { table: 'users', user: 'id', section: null, order: ['id'] },
  { table: 'events', user: 'user_id', section: 'events', order: ['metric_no', 'local_date', 'id'], hidden: VERSION },
  // What is left of events and awards that were dropped; of users with many, the sums of all.
  {
    table: 'event_days',
    user: 'user_id',
    section: 'eventDays',
    order: ['attributes_hash', 'metric_no', 'local_date'],
    hidden: ['attributes_hash'],
  },
  { table: 'award_days', user: 'user_id', section: 'awardDays', order: ['system_no', 'local_date'] },
  { table: 'summed_users', user: 'user_id', section: null, order: [] },
  // The export shows the keys with their events.
  { table: 'used_keys', user: 'user_id', section: null, order: ['id'], withEvents: true },
  {
    table: 'quarantine',
    user: 'user_id',
    section: 'quarantine',
    order: ['id'],
    words: { guard: GUARD_WORDS, status: { 1: 'waiting', 2: 'released', 3: 'dropped' } },
  },
  {
    table: 'guard_counts',
    user: 'user_id',
    section: 'guards',
    order: ['metric_no', 'guard'],
    words: { guard: GUARD_WORDS },
  },
  {
    table: 'reversals',
    user: 'user_id',
    section: 'reversals',
    order: ['no'],
    hidden: ['no', 'awards'],
  },
  // What recomputations planned for the user, and did.
  {
    table: 'recomputed_users',
    user: 'user_id',
    section: 'recomputations',
    order: ['recomputation_no'],
    hidden: ['created_ms'],
  },
  { table: 'awards', user: 'user_id', section: 'awards', order: ['system_no', 'id'], hidden: VERSION },
  { table: 'completions', user: 'user_id', section: 'completions', order: ['achievement_no'], hidden: VERSION },
  // The last completions of the tenant once more, and, only while the past is counted, who was active on a day.
  { table: 'newest_completions', user: 'user_id', section: null, order: ['no'] },
  // Only while a board is being filled.
  { table: 'board_past_scores', user: 'user_id', section: null, order: ['board_no', 'run_day'] },
  // Places in ended runs: those of the others stay as they were.
  { table: 'board_finals', user: 'user_id', section: null, order: ['group_id'], anonymised: true },
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
  { table: 'streak_pauses', user: 'user_id', section: 'streakPauses', order: ['id'] },
  // What of a user is to be reported yet, and was: the user's state in other words.
  { table: 'notification_windows', user: 'user_id', section: null, order: ['subject'] },
  { table: 'notification_places', user: 'user_id', section: null, order: ['board_id'] },
  { table: 'notification_completions', user: 'user_id', section: null, order: ['achievement_no'] },
  { table: 'notification_boosts', user: 'user_id', section: null, order: ['boost_no', 'type'] },
  { table: 'notification_moves', user: 'user_id', section: null, order: [] },
  { table: 'notification_emails', user: 'user_id', section: 'emailsDue', order: ['kind'] },
  {
    table: 'application_keys',
    user: 'user_id',
    section: 'applicationKeys',
    order: ['id'],
    hidden: ['hash'],
    persisted: false,
  },
  // Those about boards name users, too: they leave with the log.
  {
    table: 'webhook_messages',
    user: 'user_id',
    section: 'webhookMessages',
    order: ['sequence', 'webhook_id', 'day'],
    hidden: ['day', 'failed'],
  },
  // Who deleted whom is what it is asked about; AUDIT_RETENTION_DAYS ends it.
  {
    table: 'audit_log',
    user: 'about_user',
    section: 'auditLog',
    order: ['no'],
    hidden: ['no', 'who', 'address', 'request_id', 'version'],
    kept: true,
  },
];
