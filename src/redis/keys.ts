import { QUARANTINED } from '../packed/guard-fields.ts';

/**
 * All Redis keys. Keys of a tenant's part share the hash tag of the part's shard because one function call touches several
 * of them. `<t>` is the tenant's number.
 */

/** Number of shards. Fixed for the life of an installation. */
export const SHARDS = 256;

/** What one shard holds of a tenant: all that belongs to some of its users. A tenant has one part unless it is wide. */
export interface TenantPart {
  readonly tenantNo: number;
  readonly shard: number;
  /** Whether the tenant has further parts, so that no function can count ranks. */
  readonly isWide?: boolean;
  /** The epoch since which the tenant is spread like this; 0 if omitted. */
  readonly epoch?: number;
}

export const SHARD_NUMBERS: readonly number[] = Array.from({ length: SHARDS }, (_, shard) => shard);

/** The hash tag of a shard: all its keys are in one slot of a cluster. */
export const shardTag = (shard: number): string => `s${shard}`;
const tag = (shard: number): string => `{${shardTag(shard)}}`;

export const INSTALLATION_TAG = 'laurel';
const INSTALLATION = `{${INSTALLATION_TAG}}`;
const ofPart = ({ tenantNo, shard }: TenantPart): string => `${tag(shard)}:${tenantNo}`;

/** Exists while Postgres reports to workers that its disk is full (`src/redis/work-counts.ts`). */
export const POSTGRES_FULL_KEY = `${INSTALLATION}:postgres-full`;

/** stream, per shard: records and resulting user states that Postgres does not hold yet. */
export const outboxKey = (shard: number): string => `${tag(shard)}:outbox`;

/** stream: recent entries that left the outbox, of tenants whose live streams have listeners. See `live-streams.ts`. */
export const recentKey = (shard: number): string => `${tag(shard)}:recent`;

/** stream: recent entries that left the outbox, kept in case Postgres returns with older data. See `handed-over.ts`. */
export const handedKey = (shard: number): string => `${tag(shard)}:handed`;

/** hash: position up to which entries left the outbox, and from which they are kept. See `HANDED`. */
export const handedUpToKey = (shard: number): string => `${tag(shard)}:handed-up-to`;

/** stream: live notifications that no outbox record produces. */
export const announcedKey = (shard: number): string => `${tag(shard)}:announced`;

/** hash: tenants with live stream listeners, number → expiry and start positions; expires. */
export const listenedKey = (shard: number): string => `${tag(shard)}:listened`;

/** string: permissions of a live stream ticket or session as JSON, by the digest of its secret. Expires. */
export const liveGrantKey = (kind: 'ticket' | 'session', digest: string): string =>
  `${INSTALLATION}:live:${kind}:${digest}`;
/** list: digests of one API key's tickets or sessions, newest first; expires. */
export const liveGrantsKey = (kind: 'ticket' | 'session', prefix: string): string =>
  `${INSTALLATION}:live:${kind}s:${prefix}`;

/** sorted set: a tenant's tests of templates in the last minute, by time (epoch ms); expires. */
export const messageTestsKey = (tenantNo: number): string => `${INSTALLATION}:message-tests:${tenantNo}`;

/** stream: a tenant's latest requests, as JSON; expires. See `recent-requests.ts`. */
export const recentRequestsKey = (tenantNo: number): string => `${INSTALLATION}:requests:${tenantNo}`;

/** hash: set-aside outbox entries that Postgres refuses even as bytes, position → packed fields. */
export const keptEntriesKey = (shard: number): string => `${tag(shard)}:kept-entries`;

/** string: a sweep is processing the shard's users. It renews the key while it runs. See `outbox.ts`. */
export const sweepKey = (shard: number): string => `${tag(shard)}:sweep`;

/** string: a caller waits for Postgres to store the shard's outbox. */
export const awaitedKey = (shard: number): string => `${tag(shard)}:awaited`;

/**
 * string: identity of the shard's data, `<installation>:<epoch of the shard>:<data format>`; missing unless the shard is known to be
 * complete. Scripts compare it with what their caller expects (`gate.ts`).
 */
export const markKey = (shard: number): string => `${tag(shard)}:mark`;

/**
 * A key that never exists. Functions declare it instead of a mark's key, which they also read. While a slot moves to another
 * node key by key, a cluster refuses commands that name a key which the node lacks, so no function runs on a shard that is
 * split between nodes. Belongs to `markKey` or `rebuildingKey`; `libraryText` strips the last character.
 */
export const neverKey = (key: string): string => `${key}?`;

/** string: the mark that the current rebuild will set. It keeps superseded rebuilds from writing. */
export const rebuildingKey = (shard: number): string => `${tag(shard)}:rebuilding`;

export const ALL_SHARDS_PATTERN = '{s[0-9]*}:*';

const SHARD_KEY = /^\{s\d+\}:/;

/** Whether a word of a command is the key of a shard. */
export const isShardKey = (word: unknown): word is string => typeof word === 'string' && SHARD_KEY.test(word);

export const shardOfKey = (key: string): number => Number(key.slice(2, key.indexOf('}')));

/** Glob pattern of a tenant's keys on all shards. */
export const tenantPattern = (tenantNo: number): string => `{s[0-9]*}:${tenantNo}:*`;

/** Glob pattern of a shard's keys. */
export const shardPattern = (shard: number): string => `${tag(shard)}:*`;

/** stream, per shard: accepted batches of events that are not processed yet, oldest first. */
export const batchesKey = (shard: number): string => `${tag(shard)}:batches`;

/** string: progress of the shard's batches, `<batch>:<number of its events>`. */
export const batchProgressKey = (shard: number): string => `${tag(shard)}:batch-progress`;

/** hash: results of a batch that a caller waits for, event index → packed answer; kept for a minute. */
export const batchResultsKey = (shard: number, batchId: string): string => `${tag(shard)}:batch-results:${batchId}`;

/** sorted set: users of a tenant whose own live streams have listeners, by expiry (epoch ms); expires. */
export const listeningUsersKey = (part: TenantPart): string => `${ofPart(part)}:listening`;

/** string: a user's packed state; see `state.ts`. */
export const userKey = (part: TenantPart, userId: string): string => `${userKeyPrefix(part)}${userId}`;
export const userKeyPrefix = (part: TenantPart): string => `${ofPart(part)}:u:`;

/**
 * hash: a bucket of used idempotency keys, digest → event time (ms). `bucket`: 4 hex digits, plus a digit if it is narrow;
 * see `USED`.
 */
export const idempotencyKey = (part: TenantPart, bucket: string): string => `${ofPart(part)}:i:${bucket}`;

/** Matches every `idempotencyKey` and captures the numbers of its shard and tenant. */
export const IDEMPOTENCY_KEY = /^\{s(\d+)\}:(\d+):i:[0-9a-f]{4}[0-7]?$/;
/** Glob pattern that matches them and some other keys. */
export const IDEMPOTENCY_KEYS_PATTERN = '{s*}:*:i:????*';

/**
 * hash: a tenant's old used idempotency keys in compact form. `s`: segments of fingerprints; `n`: keys; `w`: the tenant is large
 * (`USED`). A segment is a string at this key, a colon and the segment's number in hex. See `lua/lib/idempotency_keys.lua`.
 */
export const oldKeysKey = (part: TenantPart): string => `${ofPart(part)}:o`;

/** hash: the tenant's counters: `users`, `a<achievement no>` → completions, `d` increases with every deleted or merged user. */
export const countersKey = (part: TenantPart): string => `${ofPart(part)}:n`;

/**
 * hash: users of the part who were merged into others, ID → ID of the other, who may have been merged since. Scripts derive the key from
 * `countersKey`, with `a` in place of its `n`.
 */
export const aliasesKey = (part: TenantPart): string => `${ofPart(part)}:a`;

/**
 * hash: IDs of seals whose merges may still change a user of this part (decision 54); expires. A merge that lost its permit is given up,
 * so rebuilds leave it out.
 */
export const mergePermitsKey = (part: TenantPart): string => `${ofPart(part)}:m`;

/** string, in the tenant's first part: as long as it exists, no merge across shards begins; expires. */
export const mergesHeldKey = (part: TenantPart): string => `${ofPart(part)}:w`;

/**
 * hash: quarantined events, user → QUARANTINED, and their total number. Scripts derive the key from `boardKeyPrefix`, with
 * `QUARANTINED.keyEnd` in place of its `b:`.
 */
export const quarantineKey = (part: TenantPart): string => `${ofPart(part)}:${QUARANTINED.keyEnd}`;

/** hash: number of users per total (> 0) of a points system, and per range of totals; see `lua/count_points.lua`. */
export const pointsKey = (part: TenantPart, systemNo: number): string => `${pointsKeyPrefix(part)}${systemNo}`;
export const pointsKeyPrefix = (part: TenantPart): string => `${ofPart(part)}:p:`;

/** sorted set: users by score (> 0) on a leaderboard, in one run (first day, epoch day) and group (`''` without a breakdown). */
export const boardKey = (part: TenantPart, board: { boardNo: number; runDay: number; group: string }): string =>
  `${boardKeyPrefix(part)}${board.boardNo}:${board.runDay}:${board.group}`;
export const boardKeyPrefix = (part: TenantPart): string => `${ofPart(part)}:b:`;

/** set: groups in which a user has or had a score > 0, in one run of a leaderboard with a breakdown. */
export const boardGroupsKey = (part: TenantPart, { boardNo, runDay }: { boardNo: number; runDay: number }): string =>
  `${ofPart(part)}:g:${boardNo}:${runDay}`;

/** hash: what the users of a part earned for teams, in one run of a leaderboard; see `TEAM_SUM`. */
export const teamsKey = (part: TenantPart, { boardNo, runDay }: { boardNo: number; runDay: number }): string =>
  `${ofPart(part)}:t:${boardNo}:${runDay}`;

/** string: empty. In a cluster, writing it follows earlier writes through replication; see `replicas.ts`. */
export const replicatedKey = (shard: number): string => `${tag(shard)}:replicated`;

/** pub/sub channel without subscribers. Its messages follow writes through replication; see `replicas.ts`. */
export const REPLICATED_CHANNEL = 'laurel:replicated';

/** hash: webhook delivery tries, outcome → count. */
export const DELIVERY_COUNTS_KEY = `${INSTALLATION}:delivery-counts`;

/** Hash: e-mails by what became of them. */
export const EMAIL_COUNTS_KEY = `${INSTALLATION}:email-counts`;
export const PUSH_COUNTS_KEY = `${INSTALLATION}:push-counts`;

/** hash: failures of scheduled work, kind → count. */
export const FAILED_WORK_KEY = `${INSTALLATION}:failed-work`;

export const QUEUE_PREFIX = INSTALLATION;

export const BOARDS_PATTERN = '{s[0-9]*}:[0-9]*:[bgt]:*';

const OF_TENANT = /^\{s(\d+)\}:(\d+):(\w)(?::([^]*))?$/;

/** Meaning of the letters in tenants' keys. */
const KINDS = {
  u: 'user',
  i: 'idempotency keys',
  o: 'old idempotency keys',
  n: 'counters',
  p: 'points',
  b: 'board',
  g: 'board groups',
  t: 'teams',
  q: 'quarantine',
  a: 'aliases',
} as const;

/** A tenant's key: its part, its kind (`null` if unknown) and the rest after it. */
export interface TenantKey extends TenantPart {
  kind: (typeof KINDS)[keyof typeof KINDS] | null;
  rest: string;
}

export function tenantKey(key: string): TenantKey | null {
  const match = OF_TENANT.exec(key);
  if (match === null) return null;
  const kind = KINDS[match[3] as keyof typeof KINDS] ?? null;
  return { shard: Number(match[1]), tenantNo: Number(match[2]), kind, rest: match[4] ?? '' };
}

const OF_BOARD = /^\{s(\d+)\}:(\d+):[bgt]:(\d+):(-?\d+)(?::|$)/;

/** The leaderboard and run of a key; `null` for other keys. */
export function boardOfKey(key: string): (TenantPart & { boardNo: number; runDay: number }) | null {
  const match = OF_BOARD.exec(key);
  if (match === null) return null;
  const [shard, tenantNo, boardNo, runDay] = match.slice(1).map(Number) as [number, number, number, number];
  return { shard, tenantNo, boardNo, runDay };
}
