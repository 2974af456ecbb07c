import { QUARANTINED } from '../packed/guard-fields.ts';

/**
 * Every Redis key, in one file. All keys of a tenant share the hash tag of the tenant's shard, since one script call
 * touches several of them. `<t>` is the tenant's number.
 */

/** Shards of the key space; a tenant lives on one. Fixed for the life of an installation. */
export const SHARDS = 256;

/** Of all shards. */
export const SHARD_NUMBERS: readonly number[] = Array.from({ length: SHARDS }, (_, shard) => shard);

export const shardOf = (tenantNo: number): number => tenantNo % SHARDS;

const tag = (shard: number): string => `{s${shard}}`;
const tenant = (tenantNo: number): string => `${tag(shardOf(tenantNo))}:${tenantNo}`;

/** stream: what happened and the resulting state of the users, until it is in Postgres. One a shard. */
export const outboxKey = (shard: number): string => `${tag(shard)}:outbox`;

/** stream: entries that left the outbox lately, of tenants whose live streams somebody listens to. See `live-streams.ts`. */
export const recentKey = (shard: number): string => `${tag(shard)}:recent`;

/** stream: entries that left the outbox lately, kept for a Postgres that comes back older. See `handed-over.ts`. */
export const handedKey = (shard: number): string => `${tag(shard)}:handed`;

/** hash: up to where entries left the outbox, and from where on they are kept. See `HANDED`. */
export const handedUpToKey = (shard: number): string => `${tag(shard)}:handed-up-to`;

/** stream: notifications for those who listen that no record of the outbox makes. */
export const announcedKey = (shard: number): string => `${tag(shard)}:announced`;

/** hash: tenants whose live streams somebody listens to, number → until when, and since which positions; expires. */
export const listenedKey = (shard: number): string => `${tag(shard)}:listened`;

/** string: what a ticket or session of a live stream may see, JSON; by the digest of its secret. Expires. */
export const liveGrantKey = (kind: 'ticket' | 'session', digest: string): string => `laurel:live:${kind}:${digest}`;
/** list: those of one API key, by their digests, newest first; expires. */
export const liveGrantsKey = (kind: 'ticket' | 'session', prefix: string): string => `laurel:live:${kind}s:${prefix}`;

/** hash: entries of the outbox that were set aside and that Postgres does not take as bytes, position → packed fields. */
export const keptEntriesKey = (shard: number): string => `${tag(shard)}:kept-entries`;

/** string: a sweep is at the shard's users, for as long as it says so again and again. See `storing-order.ts`. */
export const sweepKey = (shard: number): string => `${tag(shard)}:sweep`;

/** string: a caller waits until Postgres holds what the shard's outbox does. */
export const awaitedKey = (shard: number): string => `${tag(shard)}:awaited`;

/**
 * string: whose data this is, `<installation>:<epoch of the shard>:<form of the data>`; missing while the shard is not known to be whole. Scripts
 * compare it with what their caller believes (`gate.ts`).
 */
export const markKey = (shard: number): string => `${tag(shard)}:mark`;

/** string: the mark that the shard will get from the rebuild under way; one that was overtaken can write no more. */
export const rebuildingKey = (shard: number): string => `${tag(shard)}:rebuilding`;

/** Glob of all keys of all shards. */
export const ALL_SHARDS_PATTERN = '{s[0-9]*}:*';

/** The shard of a key that belongs to one. */
export const shardOfKey = (key: string): number => Number(key.slice(2, key.indexOf('}')));

/** Glob of all keys of a shard. */
export const shardPattern = (shard: number): string => `${tag(shard)}:*`;

/** stream: batches of events that were accepted and are not yet processed, oldest first. One a shard. */
export const batchesKey = (shard: number): string => `${tag(shard)}:batches`;

/** string: how far the shard's batches are processed: `<batch>:<events of it>`. */
export const batchProgressKey = (shard: number): string => `${tag(shard)}:batch-progress`;

/** hash: what became of the events of a batch a caller waits for, index → packed answer; kept for a minute. */
export const batchResultsKey = (shard: number, batchId: string): string => `${tag(shard)}:batch-results:${batchId}`;

/** sorted set: users of a tenant whose own live streams somebody listens to, until when (epoch ms); expires. */
export const listeningUsersKey = (tenantNo: number): string => `${tenant(tenantNo)}:listening`;

/** string: a user's packed state, see `state.ts`. */
export const userKey = (tenantNo: number, userId: string): string => `${userKeyPrefix(tenantNo)}${userId}`;
export const userKeyPrefix = (tenantNo: number): string => `${tenant(tenantNo)}:u:`;

/** hash: one bucket of used idempotency keys, digest → event time (ms). `bucket` is 4 hex digits, of a narrow one and a digit; see `USED`. */
export const idempotencyKey = (tenantNo: number, bucket: string): string => `${tenant(tenantNo)}:i:${bucket}`;

/** What `idempotencyKey` makes, whosever it is: the tenant's number. */
export const IDEMPOTENCY_KEY = /^\{s\d+\}:(\d+):i:[0-9a-f]{4}[0-7]?$/;
/** Glob of them, and of some others. */
export const IDEMPOTENCY_KEYS_PATTERN = '{s*}:*:i:????*';

/**
 * hash: what is left of a tenant's used idempotency keys that are old: `s` segments of fingerprints, `n` keys; and `w`: the tenant is large (`USED`). A segment is
 * a string under this key, a colon and its number in hex. `lua/lib/old_keys.lua` knows more.
 */
export const oldKeysKey = (tenantNo: number): string => `${tenant(tenantNo)}:o`;

/** hash: counters of the tenant: `users`, `a<achievement no>` → completions, `d` grows with every deleted user. */
export const countersKey = (tenantNo: number): string => `${tenant(tenantNo)}:n`;

/**
 * hash: events that wait in quarantine, user → QUARANTINED; and how many there are in all. Scripts know it by
 * `boardKeyPrefix`, with `QUARANTINED.keyEnd` for its `b:`.
 */
export const quarantineKey = (tenantNo: number): string => `${tenant(tenantNo)}:${QUARANTINED.keyEnd}`;

/** hash: how many users have which total (> 0) in a points system, and in which range of totals; see `points-totals.ts`. */
export const pointsKey = (tenantNo: number, systemNo: number): string => `${pointsKeyPrefix(tenantNo)}${systemNo}`;
export const pointsKeyPrefix = (tenantNo: number): string => `${tenant(tenantNo)}:p:`;

/** sorted set: users by score (> 0) on a board, in one run (its first day, an epoch day) and group ('' without breakdown). */
export const boardKey = (tenantNo: number, board: { boardNo: number; runDay: number; group: string }): string =>
  `${boardKeyPrefix(tenantNo)}${board.boardNo}:${board.runDay}:${board.group}`;
export const boardKeyPrefix = (tenantNo: number): string => `${tenant(tenantNo)}:b:`;

/** set: the groups in which a user has or had a score > 0, of one run of a board with a breakdown. */
export const boardGroupsKey = (tenantNo: number, { boardNo, runDay }: { boardNo: number; runDay: number }): string =>
  `${tenant(tenantNo)}:g:${boardNo}:${runDay}`;

/** pub/sub channel: `<tenant no>:<version>` when a tenant's catalog changed; `*` when keys, tenants or the organisation did. */
export const CHANGES_CHANNEL = 'laurel:changes';

/** pub/sub channel: somebody listens to the live streams of a tenant nobody listened to; the tenant's number. */
export const LISTENED_CHANNEL = 'laurel:listened';

/** pub/sub channel: the test clock was set; its time is stored in Postgres. */
export const CLOCK_CHANNEL = 'laurel:clock';

/** pub/sub channel: messages for webhooks were queued in Postgres; the ID of who says so. */
export const DELIVERIES_CHANNEL = 'laurel:deliveries';

/** pub/sub channel: nobody listens; a message goes behind what is to be replicated, see `replica-acknowledgement.ts`. */
export const REPLICATED_CHANNEL = 'laurel:replicated';

/** hash: tries of deliveries to webhooks, how they ended → how often. */
export const DELIVERY_COUNTS_KEY = 'laurel:delivery-counts';

/** hash: scheduled work that failed, kind → how often. */
export const FAILED_WORK_KEY = 'laurel:failed-work';

/** Prefix of BullMQ's own keys; the hash tag keeps a queue on one node. */
export const QUEUE_PREFIX = '{laurel}';

/** Glob of what boards of all tenants hold: scores and groups; with more than that, see `boardOfKey`. */
export const BOARDS_PATTERN = '{s[0-9]*}:[0-9]*:[bg]:*';

const OF_TENANT = /^\{s\d+\}:(\d+):(\w)(?::([^]*))?$/;

/** What the letters in keys of tenants stand for. */
const KINDS = {
  u: 'user',
  i: 'idempotency keys',
  o: 'old idempotency keys',
  n: 'counters',
  p: 'points',
  b: 'board',
  g: 'board groups',
  q: 'quarantine',
} as const;

/** A key of a tenant, and what follows its kind; kind null: none of the above. Null: it is not of a tenant. */
export interface TenantKey {
  tenantNo: number;
  kind: (typeof KINDS)[keyof typeof KINDS] | null;
  rest: string;
}

/** Takes a key apart. */
export function tenantKey(key: string): TenantKey | null {
  const match = OF_TENANT.exec(key);
  if (match === null) return null;
  const kind = KINDS[match[2] as keyof typeof KINDS] ?? null;
  return { tenantNo: Number(match[1]), kind, rest: match[3] ?? '' };
}

const OF_BOARD = /^\{s\d+\}:(\d+):[bg]:(\d+):(-?\d+)(?::|$)/;

/** The board and run that a key belongs to; null: it is of something else. */
export function boardOfKey(key: string): { tenantNo: number; boardNo: number; runDay: number } | null {
  const match = OF_BOARD.exec(key);
  if (match === null) return null;
  const [tenantNo, boardNo, runDay] = match.slice(1).map(Number) as [number, number, number];
  return { tenantNo, boardNo, runDay };
}
