import type { Redis } from 'ioredis';
import { createHash } from 'node:crypto';
import type { Notification } from '../domain/notifications/notification.ts';
import { ANNOUNCED, LISTENED } from '../packed/call-fields.ts';
import { repliesOf } from './commands.ts';
import { byServer, connectionOf, shardsInUse } from './endpoints.ts';
import {
  announcedKey,
  listenedKey,
  listeningUsersKey,
  liveGrantKey,
  liveGrantsKey,
  markKey,
  outboxKey,
  recentKey,
  type TenantPart,
} from './keys.ts';
import { comparePositions, OUTBOX_START, type RawEntry, RECENT_BYTES, RECENT_MS } from './outbox.ts';
import { Script } from './script.ts';
import { channelOf, publishSignal } from './signals.ts';
import { knownPart, knownParts } from './parts.ts';
import { groupedBy } from '../grouped.ts';

/** How long a tenant counts as having listeners after a frontend's last report: longer than a reconnect takes. */
const LISTENED_MS = 120_000;

/** A reader's position in a shard: in the outbox, including entries that left it, and in the announced notifications. */
export interface LivePosition {
  outbox: string;
  announced: string;
}

/** Whether a position is at or behind another one, in both streams. */
export const hasReached = (position: LivePosition, other: LivePosition): boolean =>
  comparePositions(position.outbox, other.outbox) >= 0 && comparePositions(position.announced, other.announced) >= 0;

/** The state of a shard's streams when a frontend reports its listeners. */
export interface Listened {
  /** By Redis's clock, like positions. */
  nowMs: number;
  last: LivePosition;
  /** For each of the tenants, in order: from where the streams are complete. */
  since: LivePosition[];
}

/** Most users per tenant that are tracked individually. Beyond that, due work covers all users. */
export const MOST_LISTENING_USERS = 1_000;

export interface LiveListeners {
  tenantNo: number;
  /** `null` for everybody. */
  users: readonly string[] | null;
  /** Whether a listener follows ranks. Batches compute ranks only in that case. */
  ranks: boolean;
}

/** Users of a tenant with listeners for their emails, boosts and completions; `null` for everybody. */
export type ListenedUsers = ReadonlySet<string> | null;

const ANNOUNCED_AT_ONCE = 200;

const listen = new Script('listen_live');
const announce = new Script('announce_live');

/**
 * Reports that this process has live stream listeners for some tenants of a shard. For `LISTENED_MS`, Redis then keeps what
 * leaves the outbox for them; repeat the call before that ends. Each tenant that had no listeners before, or none for one of
 * the users, is a signal (`listened`). Throws errors of Redis.
 */
export async function listenLive(redis: Redis, shard: number, listeners: readonly LiveListeners[]): Promise<Listened> {
  const ofTenants = listeners.map(({ tenantNo }) => listeningUsersKey({ tenantNo, shard }));
  const keys = [listenedKey(shard), outboxKey(shard), announcedKey(shard), ...ofTenants];
  const whom = listeners.flatMap(({ tenantNo, users, ranks }) => [
    tenantNo,
    JSON.stringify({ everybody: users === null, ranks, users: users ?? [] }),
  ]);
  const reply = (await listen.runUnguarded(redis, keys, [LISTENED_MS, channelOf('listened'), ...whom])) as Buffer[];
  const [now = '', outbox = '', announced = '', recentFloor = '', announcedFloor = '', ...since] = reply.map(String);
  return {
    nowMs: Number(now),
    last: { outbox, announced },
    since: listeners.map((_, index) => ({
      outbox: later(since[index * 2]!, recentFloor),
      announced: later(since[index * 2 + 1]!, announcedFloor),
    })),
  };
}

/**
 * Tenants whose streams had listeners within `LISTENED_MS`, and the users concerned; with `shard`, only those on the shards of
 * its server, which include all listeners for the shard's users. Throws errors of Redis.
 */
export async function listenedTenants(redis: Redis, shard?: number): Promise<Map<number, ListenedUsers>> {
  const all = byServer(redis, shardsInUse(redis));
  const holding = shard === undefined ? all : all.filter((server) => server.redis === connectionOf(redis, shard));
  const servers = await Promise.all(holding.map(listenedOn));
  const tenants = new Map<number, ListenedUsers>();
  for (const [tenantNo, users] of servers.flat()) {
    const others = tenants.get(tenantNo);
    // `null`: the listeners want every user.
    const isForAll = users === null || others === null;
    tenants.set(tenantNo, isForAll ? null : others === undefined ? users : new Set([...others, ...users]));
  }
  return tenants;
}

async function listenedOn(options: { redis: Redis; shards: readonly number[] }): Promise<[number, ListenedUsers][]> {
  const { redis, shards } = options;
  const pipeline = redis.pipeline().time();
  for (const shard of shards) pipeline.hgetall(listenedKey(shard));
  const [time, ...found] = await repliesOf<[[number | string, number | string], ...Record<string, string>[]]>(pipeline);
  const nowMs = Number(time[0]) * 1000;
  const tenants = found.flatMap((listened, index) =>
    Object.entries(listened).flatMap(([field, value]) =>
      /^\d+$/.test(field) && Number(value.split(' ')[0]) > nowMs
        ? [{ tenantNo: Number(field), shard: shards[index]!, isForAll: isForEverybody(listened, field, nowMs) }]
        : [],
    ),
  );
  const some = tenants.filter(({ isForAll }) => !isForAll);
  const users = await listeningUsers(redis, some, nowMs);
  return tenants.map((tenant) => [tenant.tenantNo, users.get(tenant) ?? null]);
}

/** Same rule as `listened_for` in `lua/lib/live_streams.lua`. */
function isForEverybody(listened: Record<string, string>, field: string, nowMs: number): boolean {
  const [everybodyMs] = listened[LISTENED.listeners + field]!.split(' ');
  return Number(everybodyMs) > nowMs;
}

/** Omits parts with too many listening users. */
async function listeningUsers(
  redis: Redis,
  parts: readonly TenantPart[],
  nowMs: number,
): Promise<Map<TenantPart, Set<string>>> {
  if (parts.length === 0) return new Map();
  const pipeline = redis.pipeline();
  for (const part of parts)
    pipeline.zrangebyscore(listeningUsersKey(part), nowMs, '+inf', 'LIMIT', 0, MOST_LISTENING_USERS + 1);
  const members = await repliesOf<string[][]>(pipeline);
  return new Map(
    parts.flatMap((part, index) =>
      members[index]!.length > MOST_LISTENING_USERS ? [] : [[part, new Set(members[index])] as const],
    ),
  );
}

/** Why a reader cannot continue from a position; `null` if it can. `asOfMs`: when it had read everything. */
export function gapAfter(
  { position, asOfMs }: { position: LivePosition; asOfMs: number },
  nowMs: number,
  since: LivePosition,
): string | null {
  if (asOfMs < nowMs - RECENT_MS) return 'the position is too old';
  return hasReached(position, since) ? null : 'the messages after the position are no longer kept';
}

export interface LiveEntries {
  /** Outbox entries, including those that left it. Covers all tenants of the shard while entries are in the outbox. */
  entries: RawEntry[];
  announced: RawEntry[];
  isMore: boolean;
  /** The shard's mark; `null` if the shard is not complete at the moment. */
  mark: string | null;
  /** The position after which everything was still kept at the time of the read. */
  floor: LivePosition;
}

/**
 * Reads the entries after a position, at most about `count` per stream. Reads the outbox first and the entries that left it
 * second, so it misses none that leave meanwhile. Throws errors of Redis.
 */
export async function readLive(
  redis: Redis,
  { shard, after, count }: { shard: number; after: LivePosition; count: number },
): Promise<LiveEntries> {
  const pipeline = connectionOf(redis, shard)
    .pipeline()
    .xrangeBuffer(outboxKey(shard), `(${after.outbox}`, '+', 'COUNT', count)
    .xrangeBuffer(recentKey(shard), `(${after.outbox}`, '+', 'COUNT', count)
    .xrangeBuffer(announcedKey(shard), `(${after.announced}`, '+', 'COUNT', count)
    .get(markKey(shard))
    .hmget(listenedKey(shard), LISTENED.recentFloor, LISTENED.announcedFloor);
  const [inOutbox, recent, announced, mark, floors] =
    await repliesOf<[RawEntry[], RawEntry[], RawEntry[], string | null, (string | null)[]]>(pipeline);
  const [recentFloor, announcedFloor] = floors;
  const first = inOutbox[0]?.[0].toString('latin1');
  const left =
    first === undefined ? recent : recent.filter(([id]) => comparePositions(id.toString('latin1'), first) < 0);
  const isMoreRecent = recent.length === count;
  return {
    entries: isMoreRecent ? left : [...left, ...inOutbox],
    announced,
    isMore: isMoreRecent || inOutbox.length === count || announced.length === count,
    mark,
    floor: { outbox: recentFloor ?? OUTBOX_START, announced: announcedFloor ?? OUTBOX_START },
  };
}

export function parseAnnounced([id, fields]: RawEntry): { id: string; notification: Notification } | null {
  if (fields[2]?.toString('latin1') !== ANNOUNCED.notification) return null;
  return { id: id.toString('latin1'), notification: JSON.parse(String(fields[3])) as Notification };
}

/** Announces the clock's notifications to tenants with listeners, after the commit. Never rejects. */
export async function announceLive(redis: Redis, notifications: readonly Notification[]): Promise<void> {
  const byShard = groupedBy(notifications, ({ tenantNo, userId }) =>
    userId === null ? knownParts(redis, tenantNo)[0]!.shard : knownPart(redis, tenantNo, userId).shard,
  );
  await Promise.all([...byShard].map(([shard, some]) => announceTo(redis, shard, some).catch(() => undefined)));
}

async function announceTo(redis: Redis, shard: number, notifications: readonly Notification[]): Promise<void> {
  const keys = [announcedKey(shard), listenedKey(shard)];
  let count = 0;
  for (let from = 0; from < notifications.length; from += ANNOUNCED_AT_ONCE) {
    const some = notifications.slice(from, from + ANNOUNCED_AT_ONCE);
    const pairs = some.flatMap((each) => [each.tenantNo, JSON.stringify(each)]);
    count += (await announce.runUnguarded(redis, keys, [RECENT_MS, RECENT_BYTES, ...pairs])) as number;
  }
  if (count > 0) await publishSignal(redis, 'outbox', String(shard));
}

const later = (a: string, b: string): string => (b !== '' && comparePositions(b, a) > 0 ? b : a);

/** A ticket opens one stream. A session lets the stream's client reconnect. */
type GrantKind = Parameters<typeof liveGrantKey>[0];

/** Redis holds only digests of secrets, so that reading Redis does not allow opening streams. */
const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');
const keyOf = (kind: GrantKind, secret: string): string => liveGrantKey(kind, digestOf(secret));

interface NewGrant {
  secret: string;
  /** The permissions that the secret grants. */
  grant: unknown;
  prefix: string;
  most: number;
  ttlMs: number;
}

/** Stores a grant, and revokes the key's oldest grants beyond `most`. */
export async function storeGrant(
  redis: Redis,
  kind: GrantKind,
  { secret, grant, prefix, most, ttlMs }: NewGrant,
): Promise<void> {
  const digest = digestOf(secret);
  const ofKey = liveGrantsKey(kind, prefix);
  const replies = await redis
    .multi()
    .set(liveGrantKey(kind, digest), JSON.stringify(grant), 'PX', ttlMs)
    .lpush(ofKey, digest)
    .lrange(ofKey, most, -1)
    .ltrim(ofKey, 0, most - 1)
    .pexpire(ofKey, ttlMs)
    .exec();
  const superfluous = (replies?.[2]?.[1] ?? []) as string[];
  if (superfluous.length > 0) await redis.del(superfluous.map((oldest) => liveGrantKey(kind, oldest)));
}

/** Consumes a secret and returns its grant, or `null`. Of two concurrent calls, only one gets it. */
export async function takeGrant(redis: Redis, kind: GrantKind, secret: string): Promise<unknown> {
  const text = await redis.getdel(keyOf(kind, secret));
  return text === null ? null : JSON.parse(text);
}

export async function readGrant(redis: Redis, kind: GrantKind, secret: string): Promise<unknown> {
  const text = await redis.get(keyOf(kind, secret));
  return text === null ? null : JSON.parse(text);
}

/** Extends the validity of secrets that are still valid. */
export async function keepGrants(
  redis: Redis,
  kind: GrantKind,
  secrets: readonly string[],
  ttlMs: number,
): Promise<void> {
  const pipeline = redis.pipeline();
  for (const secret of secrets) pipeline.pexpire(keyOf(kind, secret), ttlMs);
  await pipeline.exec();
}

export async function dropGrants(redis: Redis, kind: GrantKind, secrets: readonly string[]): Promise<void> {
  if (secrets.length > 0) await redis.del(secrets.map((secret) => keyOf(kind, secret)));
}
