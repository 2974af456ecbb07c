import type { Redis } from 'ioredis';
import { ANNOUNCED, LISTENED } from '../packed/call-fields.ts';
import type { Notification } from '../domain/notification.ts';
import {
  announcedKey,
  LISTENED_CHANNEL,
  listenedKey,
  listeningUsersKey,
  markKey,
  outboxKey,
  recentKey,
  shardOf,
} from './keys.ts';
import { byServer, connectionOf } from './endpoints.ts';
import { comparePositions, OUTBOX_START, RECENT_BYTES, RECENT_MS, type RawEntry } from './outbox.ts';
import { Script } from './script.ts';
import { shardsInUse } from './shards-in-use.ts';

/** How long a tenant counts as listened to after the last word of a frontend: longer than a reconnect takes. */
export const LISTENED_MS = 120_000;

/** How far a reader of a shard has come: in the outbox with what left it, and in the announced notifications. */
export interface LivePosition {
  outbox: string;
  announced: string;
}

/** What holds of a shard's streams when a frontend says that it listens. */
export interface Listened {
  /** By Redis's clock, which positions go by. */
  nowMs: number;
  /** The youngest positions. */
  last: LivePosition;
  /** From where on the streams are whole for each of the tenants, in their order. */
  since: LivePosition[];
}

/** Most users of a tenant whose streams are distinguished: where more listen, what is due is looked for among all. */
export const MOST_LISTENING_USERS = 1_000;

/** For whom of a tenant a frontend has live streams. */
export interface LiveListeners {
  tenantNo: number;
  /** Null: everybody. */
  users: readonly string[] | null;
  /** Whether ranks are followed, which batches count for nobody else. */
  ranks: boolean;
}

/** Whose e-mails, boosts and completions of a tenant are listened for; null: everybody's. */
export type ListenedUsers = ReadonlySet<string> | null;

/** Notifications of one call. */
const ANNOUNCED_AT_ONCE = 200;

const listen = new Script('listen_live');
const announce = new Script('announce_live');

/**
 * Says that this process has listeners to the live streams of some tenants of a shard: for `LISTENED_MS` what leaves the
 * outbox is kept for them. To be repeated in good time. Published to `LISTENED_CHANNEL` for each of which nobody did, or nobody
 * for one of the users. Errors of Redis.
 */
export async function listenLive(redis: Redis, shard: number, listeners: readonly LiveListeners[]): Promise<Listened> {
  const ofTenants = listeners.map(({ tenantNo }) => listeningUsersKey(tenantNo));
  const keys = [listenedKey(shard), outboxKey(shard), announcedKey(shard), ...ofTenants];
  const whom = listeners.flatMap(({ tenantNo, users, ranks }) => [
    tenantNo,
    JSON.stringify({ everybody: users === null, ranks, users: users ?? [] }),
  ]);
  const reply = (await listen.runUnguarded(redis, keys, [LISTENED_MS, LISTENED_CHANNEL, ...whom])) as Buffer[];
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
 * The tenants whose live streams somebody listens to, or did within `LISTENED_MS`, with the users whose they are. Errors of
 * Redis.
 */
export async function listenedTenants(redis: Redis): Promise<Map<number, ListenedUsers>> {
  const servers = await Promise.all(byServer(redis, shardsInUse(redis)).map(listenedOn));
  return new Map(servers.flat());
}

async function listenedOn({
  redis,
  shards,
}: {
  redis: Redis;
  shards: readonly number[];
}): Promise<[number, ListenedUsers][]> {
  const pipeline = redis.pipeline().time();
  for (const shard of shards) pipeline.hgetall(listenedKey(shard));
  const [time, ...found] = await all<[[number | string, number | string], ...Record<string, string>[]]>(pipeline);
  const nowMs = Number(time[0]) * 1000;
  const tenants = found.flatMap((listened) =>
    Object.entries(listened).flatMap(([field, value]) =>
      /^\d+$/.test(field) && Number(value.split(' ')[0]) > nowMs
        ? [{ tenantNo: Number(field), isForAll: isForEverybody(listened, field, nowMs) }]
        : [],
    ),
  );
  const some = tenants.filter(({ isForAll }) => !isForAll).map(({ tenantNo }) => tenantNo);
  const users = await listeningUsers(redis, some, nowMs);
  return tenants.map(({ tenantNo }) => [tenantNo, users.get(tenantNo) ?? null]);
}

/** As `listened_for` of `lua/lib/live_streams.lua`. */
function isForEverybody(listened: Record<string, string>, field: string, nowMs: number): boolean {
  const [everybodyMs] = listened[LISTENED.listeners + field]!.split(' ');
  return Number(everybodyMs) > nowMs;
}

/** Tenants of which too many listen are left out. */
async function listeningUsers(
  redis: Redis,
  tenantNos: readonly number[],
  nowMs: number,
): Promise<Map<number, Set<string>>> {
  if (tenantNos.length === 0) return new Map();
  const pipeline = redis.pipeline();
  for (const tenantNo of tenantNos)
    pipeline.zrangebyscore(listeningUsersKey(tenantNo), nowMs, '+inf', 'LIMIT', 0, MOST_LISTENING_USERS + 1);
  const found = await all<string[][]>(pipeline);
  return new Map(
    tenantNos.flatMap((tenantNo, index) =>
      found[index]!.length > MOST_LISTENING_USERS ? [] : [[tenantNo, new Set(found[index])] as const],
    ),
  );
}

/** The replies of a pipeline. Throws the first error. */
async function all<Replies extends unknown[]>(pipeline: ReturnType<Redis['pipeline']>): Promise<Replies> {
  return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  }) as Replies;
}

/**
 * Why a reader cannot go on from a position without missing something; null: it can. `asOfMs`: when (by Redis's clock) it had
 * read all that there was, which may be long after the position's own time.
 */
export function gapAfter(
  { position, asOfMs }: { position: LivePosition; asOfMs: number },
  { nowMs, since }: { nowMs: number; since: LivePosition },
): string | null {
  if (asOfMs < nowMs - RECENT_MS) return 'the position is too old';
  const isWhole =
    comparePositions(position.outbox, since.outbox) >= 0 && comparePositions(position.announced, since.announced) >= 0;
  return isWhole ? null : 'what followed the position is not kept';
}

/** What a shard's streams hold after a position, oldest first, and whether there is more. */
export interface LiveEntries {
  /** Of the outbox, though they may have left it. Of all tenants of the shard as long as they are in it. */
  entries: RawEntry[];
  announced: RawEntry[];
  isMore: boolean;
  /** Whose data it is; null: the shard is not whole at the moment. */
  mark: string | null;
  /** From where on all was still kept when it was read. */
  floor: LivePosition;
}

/**
 * Reads what follows a position, at most about `count` entries of each stream. None is missed that leaves the outbox
 * meanwhile: it is read first, and then those that had left it. Errors of Redis.
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
    await all<[RawEntry[], RawEntry[], RawEntry[], string | null, (string | null)[]]>(pipeline);
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

/** An announced notification, with its position. */
export function parseAnnounced([id, fields]: RawEntry): { id: string; notification: Notification } | null {
  if (fields[2]?.toString('latin1') !== ANNOUNCED.notification) return null;
  return { id: id.toString('latin1'), notification: JSON.parse(String(fields[3])) as Notification };
}

/**
 * Announces notifications that no record of the outbox makes (those of the clock) to whoever listens to the live streams of
 * their tenants: nothing is written for the others. To be called after the commit of what made them; never rejects, for they are stored.
 */
export async function announceLive(redis: Redis, notifications: readonly Notification[]): Promise<void> {
  const byShard = new Map<number, Notification[]>();
  for (const notification of notifications) {
    const shard = shardOf(notification.tenantNo);
    const some = byShard.get(shard);
    if (some === undefined) byShard.set(shard, [notification]);
    else some.push(notification);
  }
  await Promise.all([...byShard].map(([shard, some]) => announceTo(redis, shard, some).catch(() => undefined)));
}

async function announceTo(redis: Redis, shard: number, notifications: readonly Notification[]): Promise<void> {
  const keys = [announcedKey(shard), listenedKey(shard)];
  for (let from = 0; from < notifications.length; from += ANNOUNCED_AT_ONCE) {
    const some = notifications.slice(from, from + ANNOUNCED_AT_ONCE);
    const pairs = some.flatMap((each) => [each.tenantNo, JSON.stringify(each)]);
    await announce.runUnguarded(redis, keys, [RECENT_MS, RECENT_BYTES, ...pairs]);
  }
}

const later = (a: string, b: string): string => (b !== '' && comparePositions(b, a) > 0 ? b : a);
