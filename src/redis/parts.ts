/** The parts of tenants: which shard holds a user. */
import type { Redis } from 'ioredis';
import { hash } from 'node:crypto';
import { AppError } from '../errors.ts';
import { connectionOf, rootOf } from './endpoints.ts';
import { isOpen, RedisNotReady } from './gate.ts';
import { readJoined } from './joined-reads.ts';
import { countersKey, SHARDS, type TenantPart, userKey } from './keys.ts';
import { Slices } from '../pacing/slices.ts';
import { unlessSilent } from './outage.ts';
import { groupedBy } from '../grouped.ts';

/** How a tenant is spread over shards. */
export interface Spread {
  tenantNo: number;
  /** Number of parts: a power of two from 1 to SHARDS. */
  spread: number;
  /** The epoch in which this came into force. The later of two wins. */
  epoch: number;
  /** Whether the tenant is being converted, so that nothing may read or write its users. */
  converting: boolean;
}

/** Answers about a tenant that is being converted. Nothing was done. */
export class TenantConverting extends AppError {
  constructor() {
    super('unavailable', 'The users of this tenant are being spread over other shards; try again in a moment.');
  }
}

interface Known extends Spread {
  parts: readonly TenantPart[];
}

/** What this process knows, by the connection to Redis. Tenants that are not listed have one part. */
const known = new WeakMap<Redis, Map<number, Known>>();

function partsKnown(redis: Redis): Map<number, Known> {
  const root = rootOf(redis);
  let ofRoot = known.get(root);
  if (ofRoot === undefined) known.set(root, (ofRoot = new Map()));
  return ofRoot;
}

/** The parts of a tenant, in the order of `partIndex`. */
export const partsOfSpread = (tenantNo: number, spread: number, epoch = 0): readonly TenantPart[] =>
  Array.from({ length: spread }, (_, index) => ({
    tenantNo,
    shard: (tenantNo + index * (SHARDS / spread)) % SHARDS,
    isWide: spread > 1,
    epoch,
  }));

/** Notes how tenants are spread, as read from Postgres. Earlier news about a tenant changes nothing. */
export function noteSpreads(redis: Redis, spreads: readonly Spread[]): void {
  const noted = partsKnown(redis);
  for (const each of spreads) {
    const before = noted.get(each.tenantNo);
    if (before !== undefined && before.epoch > each.epoch) continue;
    const isSame = before?.spread === each.spread && before.epoch === each.epoch;
    const parts = isSame ? before.parts : partsOfSpread(each.tenantNo, each.spread, each.epoch);
    noted.set(each.tenantNo, { ...each, parts });
  }
}

function read(redis: Redis, tenantNo: number): Known {
  const noted = partsKnown(redis);
  let entry = noted.get(tenantNo);
  if (entry === undefined) {
    entry = { tenantNo, spread: 1, epoch: 0, converting: false, parts: partsOfSpread(tenantNo, 1) };
    noted.set(tenantNo, entry);
  }
  return entry;
}

/** All parts of a tenant, in order, regardless of their state. */
export const knownParts = (redis: Redis, tenantNo: number): readonly TenantPart[] => read(redis, tenantNo).parts;

/** The part that holds a user, regardless of its state. */
export function knownPart(redis: Redis, tenantNo: number, userId: string): TenantPart {
  const { parts } = read(redis, tenantNo);
  return parts.length === 1 ? parts[0]! : parts[partIndex(userId, parts.length)]!;
}

/** The part that a shard holds, regardless of its state; one without users if the tenant has none there. */
export const partOnShard = (redis: Redis, tenantNo: number, shard: number): TenantPart =>
  read(redis, tenantNo).parts.find((part) => part.shard === shard) ?? { tenantNo, shard };

/** Whether a tenant is being converted. */
export const isConverting = (redis: Redis, tenantNo: number): boolean => read(redis, tenantNo).converting;

/**
 * All parts of a tenant. Throws `TenantConverting`; and RedisNotReady if a wide tenant has a part on a closed shard.
 * (Whether the only part of a tenant is open is known before a request begins.)
 */
export function tenantParts(redis: Redis, tenantNo: number): readonly TenantPart[] {
  const { parts, converting } = read(redis, tenantNo);
  if (converting) throw new TenantConverting();
  if (parts.length > 1) for (const part of parts) refuseClosed(redis, part);
  return parts;
}

/** The part that holds a user. Throws as `tenantParts` does, about this part alone. */
export function userPart(redis: Redis, tenantNo: number, userId: string): TenantPart {
  const { parts, converting } = read(redis, tenantNo);
  if (converting) throw new TenantConverting();
  if (parts.length === 1) return parts[0]!;
  const part = parts[partIndex(userId, parts.length)]!;
  refuseClosed(redis, part);
  return part;
}

/** Whether a part is still one of its tenant's, and the tenant is not being converted. */
export function isCurrent(redis: Redis, { tenantNo, epoch = 0 }: TenantPart): boolean {
  const known = read(redis, tenantNo);
  return !known.converting && known.epoch === epoch;
}

function refuseClosed(redis: Redis, { shard }: TenantPart): void {
  if (!isOpen(redis, shard)) throw new RedisNotReady();
}

/**
 * Which of a tenant's parts holds a user. Doubling the number of parts moves half of the users. Statements of Postgres use
 * the same rule (`ofPart` of `src/postgres/users/stored-states.ts`).
 */
export const partIndex = (userId: string, parts: number): number => hash('sha256', userId, 'buffer')[0]! % parts;

/** Which share of its tenant's users a part holds; `null` if the tenant has no part on this shard. */
export function shareOf(
  redis: Redis,
  { tenantNo, shard }: TenantPart,
): { tenantNo: number; spread: number; index: number } | null {
  const { parts } = read(redis, tenantNo);
  const index = parts.findIndex((part) => part.shard === shard);
  return index === -1 ? null : { tenantNo, spread: parts.length, index };
}

/** Groups what belongs to users by the part that holds them; keeps the order within a part. */
export function byPart<T>(
  redis: Redis,
  tenantNo: number,
  of: readonly T[],
  userId: (each: T) => string,
): Map<TenantPart, T[]> {
  return groupedBy(of, (each) => userPart(redis, tenantNo, userId(each)));
}

/**
 * Calls `call` once for each part that holds some of the users, and returns its results, one for each user, in the order
 * of `users`. Throws `TenantConverting`.
 */
export async function inParts<U, R>(
  redis: Redis,
  tenantNo: number,
  options: {
    users: readonly U[];
    userId: (user: U) => string;
    call: (part: TenantPart, some: readonly U[]) => Promise<readonly R[]>;
  },
): Promise<R[]> {
  const { users, userId, call } = options;
  const numbered = users.map((user, index) => ({ user, index }));
  const groups = byPart(redis, tenantNo, numbered, ({ user }) => userId(user));
  const results: R[] = [];
  await Promise.all(
    Array.from(groups, async ([part, some]) => {
      const answers = await call(
        part,
        some.map(({ user }) => user),
      );
      for (const [at, { index }] of some.entries()) results[index] = answers[at]!;
    }),
  );
  return results;
}

/**
 * A user's packed state; `null` for an unknown user. Also while the tenant is being converted, because its batches are
 * processed first. Throws RedisNotReady as `userPart` does.
 */
export function packedUser(redis: Redis, tenantNo: number, userId: string): Promise<Buffer | null> {
  const part = knownPart(redis, tenantNo, userId);
  if (part.isWide === true) refuseClosed(redis, part);
  return readJoined(redis, part.shard, userKey(part, userId));
}

/** The packed states of users, in order, with one command for each part. Throws `TenantConverting`. */
export function packedUsers(redis: Redis, tenantNo: number, userIds: readonly string[]): Promise<(Buffer | null)[]> {
  return inParts(redis, tenantNo, {
    users: userIds,
    userId: (id) => id,
    call: (part, ids) => redis.mgetBuffer(ids.map((id) => userKey(part, id))),
  });
}

/** Users whose states are read at once at first, when their size is not known yet. */
const FIRST_STATES = 32;
const MOST_STATES = 1_000;
/** About how many bytes of states are read at once: 0.1 to 0.2 ms of Redis. */
const STATES_BYTES = 262_144;

/**
 * The packed states of users, in order, in slices of about 256 KiB, which follow from the sizes of the states before. A
 * slice of large states after small ones has at most twice as many users. Throws `TenantConverting`.
 */
export async function* statesInSlices(
  redis: Redis,
  tenantNo: number,
  userIds: readonly string[],
): AsyncGenerator<{ userId: string; packed: Buffer | null }> {
  const slices = new Slices();
  let count = FIRST_STATES;
  for (let from = 0; from < userIds.length;) {
    const ids = userIds.slice(from, from + count);
    const states = await packedUsers(redis, tenantNo, ids);
    for (const [index, userId] of ids.entries()) {
      if (slices.over) await slices.turn();
      yield { userId, packed: states[index] ?? null };
    }
    from += ids.length;
    const bytes = states.reduce((sum, packed) => sum + (packed?.length ?? 0), 0);
    const fitting = Math.floor((STATES_BYTES * ids.length) / Math.max(bytes, 1));
    count = Math.max(1, Math.min(fitting, 2 * count, MOST_STATES));
  }
}

/** The last sums of a tenant's counters, by its parts: for statistics while a server does not answer. */
const lastCounts = new WeakMap<readonly TenantPart[], Map<string, number>>();

/**
 * Like `tenantCounters`, for statistics that a user's own answer contains: it does not wait for a silent server. While a part
 * cannot be read, the sums are the last ones that this process read, or those of the other parts. Throws `TenantConverting`, and
 * RedisNotReady if no part can be read.
 */
export async function lastCounters(redis: Redis, tenantNo: number, fields: readonly string[]): Promise<number[]> {
  const { parts, converting } = read(redis, tenantNo);
  if (parts.length === 1 || converting) return tenantCounters(redis, tenantNo, fields);
  const counted = await Promise.all(
    parts.map(async (part) => {
      if (!isOpen(redis, part.shard)) return null;
      const ask = () => redis.hmget(countersKey(part), ...fields);
      return unlessSilent([connectionOf(redis, part.shard)], ask).catch(() => null);
    }),
  );
  const answered = counted.filter((counts) => counts !== null);
  if (answered.length === 0) throw new RedisNotReady();
  const sums = fields.map((_, index) => answered.reduce((sum, counts) => sum + Number(counts[index] ?? 0), 0));
  let last = lastCounts.get(parts);
  if (last === undefined) lastCounts.set(parts, (last = new Map()));
  if (answered.length < parts.length) return fields.map((field, index) => last.get(field) ?? sums[index]!);
  for (const [index, field] of fields.entries()) last.set(field, sums[index]!);
  return sums;
}

/** The sums of a tenant's counters (`countersKey`) over its parts. Throws `TenantConverting`. */
export async function tenantCounters(redis: Redis, tenantNo: number, fields: readonly string[]): Promise<number[]> {
  const counted = await Promise.all(
    tenantParts(redis, tenantNo).map((part) => redis.hmget(countersKey(part), ...fields)),
  );
  return fields.map((_, index) => counted.reduce((sum, counts) => sum + Number(counts[index] ?? 0), 0));
}
