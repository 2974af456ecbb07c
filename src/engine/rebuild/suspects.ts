/** Differences between Redis and Postgres: found first, then confirmed by a second read. */
import type { Redis } from 'ioredis';
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { COUNTER } from '../../packed/call-fields.ts';
import { QUARANTINED } from '../../packed/guard-fields.ts';
import { holdsOf } from '../../packed/state.ts';
import { numbered } from '../../packed/unpack-state.ts';
import { USER } from '../../packed/user-fields.ts';
import { waitingEvents } from '../../postgres/corrections/quarantine.ts';
import { type Outstanding, readOutstanding } from '../../postgres/balance-changes.ts';
import { type UsedKey, usedKeysAt } from '../../postgres/used-keys.ts';
import {
  countCompletions,
  countUsersIn,
  pointsTotals,
  readUsers,
  storedState,
  type StoredUser,
} from '../../postgres/users/stored-states.ts';
import { hotUse } from '../../redis/idempotency.ts';
import { countAliases } from '../../postgres/users/merges.ts';
import {
  aliasesKey,
  countersKey,
  quarantineKey,
  shardOfKey,
  tenantKey,
  type TenantPart,
  userKey,
} from '../../redis/keys.ts';
import { shardsWithEntries } from '../../redis/outbox.ts';
import { knownPart, shareOf } from '../../redis/parts.ts';
import { totalFields } from '../../redis/lua-library.ts';
import { oldKeysHeld } from '../../redis/old-keys.ts';
import { isPersisted } from '../persist/cursor-wait.ts';
import { waitingKeys } from '../retention/waiting-keys.ts';
import {
  type BoardsOfTenants,
  bucketOf,
  type Place,
  placesOf,
  quarantineOf,
  readState,
  stateOf,
  TeamSums,
  useText,
} from './derived-keys.ts';

export interface Sides {
  redis: Redis;
  pool: Pool;
  shards: readonly number[];
  boards: BoardsOfTenants;
}

/** The state under a user's key, in the part that holds the user or, superfluous, in another one. */
export const stateSuspect = ({ redis, pool }: Sides, part: TenantPart, id: string): Suspect => ({
  key: userKey(part, id),
  part: '',
  redis: async () => (await redis.getBuffer(userKey(part, id)))?.toString('hex') ?? null,
  postgres: async () => {
    if (!isHeldBy(redis, part, id)) return null;
    return (await storedState(pool, { tenantNo: part.tenantNo, userId: id }))?.toString('hex') ?? null;
  },
});

const isHeldBy = (redis: Redis, { tenantNo, shard }: TenantPart, id: string): boolean =>
  knownPart(redis, tenantNo, id).shard === shard;

/** Spent and held points of a user as text, by points system; `''` for a user who never spent anything. */
function balanceText(holdings: readonly { systemNo: number; spent: number; holds: readonly string[] }[]): string {
  return holdings
    .toSorted((a, b) => a.systemNo - b.systemNo)
    .map(
      ({ systemNo, spent, holds }) =>
        `${systemNo}: ${[`${spent} spent`, ...holds.map((hold) => `${hold} held`)].join(', ')}`,
    )
    .join('; ');
}

function balanceTextOf(state: Buffer | null): string {
  const { [USER.spent]: spent, [USER.holds]: packed = [] } = state === null ? {} : (readState({ state }) ?? {});
  const holds = holdsOf(packed);
  return balanceText(
    Array.from(numbered(spent), ([systemNo, amount]) => ({
      systemNo,
      spent: amount,
      holds: holds.filter((hold) => hold.systemNo === systemNo).map(({ id, amount: held }) => `${id} ${held}`),
    })),
  );
}

/** The same of some users, from the changes of balances in Postgres. */
async function storedBalances(pool: Pool, users: readonly NamedUser[]): Promise<Map<string, string>> {
  const byUser = new Map<string, Outstanding[]>();
  const asked = users.map(({ tenantNo, id }) => ({ tenantNo, userId: id }));
  for (const each of await readOutstanding(pool, asked)) listed(byUser, nameOf(each.tenantNo, each.userId)).push(each);
  return new Map(Array.from(byUser, ([name, all]) => [name, balanceText(all)]));
}

type NamedUser = Pick<StoredUser, 'tenantNo' | 'id'>;
const nameOf = (tenantNo: number, id: string): string => `${tenantNo} ${id}`;

/** A user's spent and held points: the state in Redis, and the sum of the changes in Postgres. */
const balanceSuspect = ({ redis, pool }: Sides, part: TenantPart, id: string): Suspect => ({
  key: userKey(part, id),
  part: 'spent',
  redis: async () => balanceTextOf(await redis.getBuffer(userKey(part, id))),
  postgres: async () =>
    (await storedBalances(pool, [{ tenantNo: part.tenantNo, id }])).get(nameOf(part.tenantNo, id)) ?? '',
});

async function suspectBalances(sides: Sides, users: readonly PlacedUser[]): Promise<Suspect[]> {
  const stored = await storedBalances(sides.pool, users);
  return users
    .filter(({ tenantNo, id, state }) => balanceTextOf(state) !== (stored.get(nameOf(tenantNo, id)) ?? ''))
    .map(({ part, id }) => balanceSuspect(sides, part, id));
}

async function storedPlaces({ redis, pool, boards }: Sides, tenantNo: number, id: string): Promise<Place[]> {
  const packed = await storedState(pool, { tenantNo, userId: id });
  if (packed === null) return [];
  return placesOf(knownPart(redis, tenantNo, id), id, stateOf({ state: packed }), await boards.of(tenantNo));
}

export const placeSuspect = (
  sides: Sides,
  { tenantNo, id, key, member }: { tenantNo: number; id: string; key: string; member: string },
): Suspect => ({
  key,
  part: id,
  redis: async () => scoreText(await sides.redis.zscore(key, member)),
  postgres: async () =>
    scoreText(
      (await storedPlaces(sides, tenantNo, id)).find((place) => place.key === key && place.member === member)?.score ??
        null,
    ),
});

/** Equal scores have equal texts. */
const scoreText = (score: string | number | null): string | null => (score === null ? null : String(Number(score)));

const LISTED = 'listed';

function groupSuspect(
  sides: Sides,
  { tenantNo, id, key, group }: { tenantNo: number; id: string; key: string; group: string },
): Suspect {
  const redis = async (): Promise<string | null> => ((await sides.redis.sismember(key, group)) === 1 ? LISTED : null);
  return {
    key,
    part: group,
    redis,
    postgres: async () => {
      const places = await storedPlaces(sides, tenantNo, id);
      // A group without members may or may not be listed.
      return places.some(({ listedIn }) => listedIn?.key === key && listedIn.group === group) ? LISTED : redis();
    },
  };
}

export const groupsSuspect = (
  { redis, boards }: Sides,
  { tenantNo, key, boardNo, runDay }: { tenantNo: number; key: string; boardNo: number; runDay: number },
): Suspect => ({
  key,
  part: '',
  redis: async () => ((await redis.exists(key)) === 1 ? LISTED : null),
  postgres: async () => {
    const board = (await boards.of(tenantNo)).get(boardNo);
    return board?.grouped === true && !board.cleared.has(runDay) ? LISTED : null;
  },
});

/** The hash of a run's teams. */
export const teamsSuspect = (sides: Sides, key: string): Suspect => ({
  key,
  part: '',
  redis: async () =>
    countsText(new Map(Object.entries(await sides.redis.hgetall(key)).map(([field, sum]) => [field, BigInt(sum)]))),
  postgres: async (round) => teamsText(await round.teamsOf(sides, tenantKey(key)!.tenantNo), key),
});

/** The hashes, under some keys, that differ from what was noted of the users. */
export async function suspectTeams(sides: Sides, keys: Iterable<string>, noted: TeamSums): Promise<Suspect[]> {
  const suspects: Suspect[] = [];
  for (const key of keys) {
    const suspect = teamsSuspect(sides, key);
    if ((await suspect.redis()) !== teamsText(noted, key)) suspects.push(suspect);
  }
  return suspects;
}

const teamsText = ({ hashes }: TeamSums, key: string): string | null => countsText(hashes.get(key) ?? new Map());

const USERS_A_PAGE = 1_000;

/** What several suspects read of Postgres, so that a round of `confirm` reads it once. */
class Round {
  private readonly teams = new Map<number, Promise<TeamSums>>();

  /** What users of a tenant earned for teams. Reads all of them. */
  teamsOf(sides: Sides, tenantNo: number): Promise<TeamSums> {
    let sums = this.teams.get(tenantNo);
    if (sums === undefined) this.teams.set(tenantNo, (sums = storedTeams(sides, tenantNo)));
    return sums;
  }
}

async function storedTeams({ redis, pool, boards }: Sides, tenantNo: number): Promise<TeamSums> {
  const sums = new TeamSums();
  for await (const page of readUsers(pool, USERS_A_PAGE, [tenantNo]))
    for (const user of page) sums.add(knownPart(redis, tenantNo, user.id), stateOf(user), await boards.of(tenantNo));
  return sums;
}

/** A field of a part's counters: `users`, or `a<achievement>`. */
export const counterSuspect = ({ redis, pool }: Sides, part: TenantPart, field: string): Suspect => ({
  key: countersKey(part),
  part: field,
  redis: async () => (await redis.hget(countersKey(part), field)) ?? '0',
  postgres: async () => {
    const share = shareOf(redis, part);
    if (share === null) return '0';
    const count =
      field === COUNTER.users ? countUsersIn(pool, share) : countCompletions(pool, share, Number(field.slice(1)));
    return String(await count);
  },
});

/**
 * A part's counter of generations, if it is below the highest one of its users. It may be above that, since the last
 * deleted user need not have returned.
 */
export const lowGeneration = (
  key: string,
  { held, youngest }: { held: string | null; youngest: number },
): Difference[] =>
  Number(held ?? 0) < youngest
    ? [{ key, part: COUNTER.generation, redis: held ?? 'nothing', postgres: String(youngest) }]
    : [];

export const usedKeySuspect = (
  sides: Pick<Sides, 'redis' | 'pool' | 'shards'>,
  { key, field, value }: { key: string; field: string; value: string },
): Suspect => ({
  key,
  part: field,
  redis: () => hotUse(sides.redis, key, field),
  postgres: async () => {
    const use = useText({ key, field, value });
    return (await storedUses(sides, [value])).has(use) || (await waitingUses(sides)).has(use) ? value : null;
  },
});

/**
 * Those of some used keys of Postgres that Redis does not hold, neither hot nor old.
 * @param generationOf the generation of a key's user
 */
export async function missingUses(
  sides: Sides,
  used: readonly UsedKey[],
  generationOf: (key: UsedKey) => number | undefined,
): Promise<Suspect[]> {
  const { redis } = sides;
  const places = used
    .map((key) => bucketOf(redis, key, generationOf(key)))
    .filter(({ key }) => sides.shards.includes(shardOfKey(key)));
  const found = await Promise.all(places.map(({ key, field }) => hotUse(redis, key, field)));
  const others = places.flatMap((place, index) => (found[index] === place.value ? [] : [{ place, hot: found[index] }]));
  // A key that is not hot may be old. It may become old in between, so this is read second.
  const held = await oldKeysHeld(
    redis,
    others.map(({ place }) => fieldOf(place)),
  );
  return others
    .filter(({ hot }, at) => hot !== null || held[at] !== true)
    .map(({ place }) => missingUseSuspect(sides, place));
}

type UsePlace = ReturnType<typeof bucketOf>;
const fieldOf = ({ tenantNo, key, field }: UsePlace): { tenantNo: number; bucket: string; field: string } => ({
  tenantNo,
  bucket: key,
  field,
});

/** A used key of Postgres that Redis seems to lack. */
function missingUseSuspect(sides: Sides, place: UsePlace): Suspect {
  const { key, field, value } = place;
  return {
    ...usedKeySuspect(sides, place),
    redis: async () => {
      const hot = await hotUse(sides.redis, key, field);
      return hot === null && (await oldKeysHeld(sides.redis, [fieldOf(place)]))[0] === true ? value : hot;
    },
  };
}

/** The used keys (`useText`) of stored events whose IDs have the times of some uses. */
export async function storedUses(
  { redis, pool }: Pick<Sides, 'redis' | 'pool'>,
  values: readonly string[],
): Promise<Set<string>> {
  const times = new Set(values.map(Number));
  return new Set((await usedKeysAt(pool, [...times])).map((used) => useText(bucketOf(redis, used, undefined))));
}

/** The used keys (`useText`) of events in dead letters. */
export async function waitingUses({
  redis,
  pool,
  shards,
}: Pick<Sides, 'redis' | 'pool' | 'shards'>): Promise<Set<string>> {
  const uses = new Set<string>();
  for await (const used of waitingKeys({ redis, pool }, (shard) => shards.includes(shard)))
    uses.add(useText(bucketOf(redis, used, undefined)));
  return uses;
}

type Standing = Place & { tenantNo: number; id: string };

/** A user and the part that holds the user. */
type PlacedUser = StoredUser & { part: TenantPart };

/**
 * Differences about some users on the shards; notes their places in `members`, and what they earned in `teams`. Takes one
 * command for each set, not for each place.
 */
export async function suspectUsers(
  sides: Sides,
  users: readonly StoredUser[],
  { members, teams }: { members: SetMembers; teams: TeamSums },
): Promise<Suspect[]> {
  const byShard = new Map<number, PlacedUser[]>();
  const bySet = new Map<string, Standing[]>();
  for (const user of users) {
    const { tenantNo, id } = user;
    const part = knownPart(sides.redis, tenantNo, id);
    listed(byShard, part.shard).push({ ...user, part });
    for (const place of placesOf(part, id, stateOf(user), await sides.boards.of(tenantNo))) {
      members.note(place.key, place.member);
      listed(bySet, place.key).push({ ...place, tenantNo, id });
    }
    teams.add(part, stateOf(user), await sides.boards.of(tenantNo));
  }
  const found = await Promise.all([
    ...Array.from(byShard.values(), (some) => suspectStates(sides, some)),
    suspectBalances(sides, Array.from(byShard.values()).flat()),
    ...Array.from(bySet, ([key, standings]) => suspectScores(sides, key, standings)),
    // The members of a set are in one group.
    ...Array.from(bySet.values(), ([first]) => suspectGroup(sides, first!)),
  ]);
  return found.flat();
}

/** The list under a key; creates it if necessary. */
function listed<K, V>(lists: Map<K, V[]>, key: K): V[] {
  const known = lists.get(key);
  if (known !== undefined) return known;
  const made: V[] = [];
  lists.set(key, made);
  return made;
}

async function suspectStates(sides: Sides, users: readonly PlacedUser[]): Promise<Suspect[]> {
  const states = await sides.redis.mgetBuffer(users.map(({ part, id }) => userKey(part, id)));
  return users
    .filter(({ state }, index) => states[index]?.equals(state) !== true)
    .map(({ part, id }) => stateSuspect(sides, part, id));
}

async function suspectScores(sides: Sides, key: string, standings: readonly Standing[]): Promise<Suspect[]> {
  const scores = await sides.redis.zmscore(key, ...standings.map(({ member }) => member));
  return standings
    .filter(({ score }, index) => (scores[index] ?? null) === null || Number(scores[index]) !== Number(score))
    .map(({ tenantNo, id, member }) => placeSuspect(sides, { tenantNo, id, key, member }));
}

async function suspectGroup(sides: Sides, { tenantNo, id, listedIn }: Standing): Promise<Suspect[]> {
  if (listedIn === null || (await sides.redis.sismember(listedIn.key, listedIn.group)) === 1) return [];
  return [groupSuspect(sides, { tenantNo, id, ...listedIn })];
}

/** The counts of a points system if they differ from the users' states: one suspect, since they change together. */
export async function suspectPoints({ redis, pool }: Sides, key: string, noted: SetMembers): Promise<Suspect[]> {
  if (await noted.areCounted(key, heldCounts(redis, key))) return [];
  const { rest, ...part } = tenantKey(key)!;
  const held = async (): Promise<string | null> => {
    const counts = new Map<string, number>();
    for await (const piece of heldCounts(redis, key)) for (const [field, users] of piece) counts.set(field, users);
    return countsText(counts);
  };
  const wanted = async (): Promise<string | null> => {
    const counts = new Map<string, number>();
    const share = shareOf(redis, part);
    for (const { total, users } of share === null ? [] : await pointsTotals(pool, share, Number(rest)))
      for (const field of totalFields(total)) counts.set(field, (counts.get(field) ?? 0) + users);
    return countsText(counts);
  };
  return [{ key, part: '', redis: held, postgres: wanted }];
}

const AT_ONCE = 1_000;

/** The counts in Redis, in pieces, since there may be as many as users. */
async function* heldCounts(redis: Redis, key: string): AsyncGenerator<[field: string, users: number][]> {
  let cursor = '0';
  do {
    const [next, flat] = await redis.hscan(key, cursor, 'COUNT', AT_ONCE);
    yield flat.flatMap((field, at) => (at % 2 === 0 ? [[field, Number(flat[at + 1])] as [string, number]] : []));
    cursor = next;
  } while (cursor !== '0');
}

/** Maximum number of counts to show in full; longer lists are shown as a digest. */
const LEGIBLE = 20;

/** Equal counts give equal texts; `null` if nobody has points. */
function countsText(counts: ReadonlyMap<string, number | bigint>): string | null {
  if (counts.size === 0) return null;
  const all = Array.from(counts, ([field, users]) => `${field}: ${users}`).toSorted();
  const text = all.slice(0, LEGIBLE).join(', ');
  if (all.length <= LEGIBLE) return text;
  return `${text}, … (${all.length} counts, ${createHash('sha1').update(all.join()).digest('hex')})`;
}

/** A tenant's hash as text, independent of the order of users and events; `null` if nothing waits. */
function quarantineText(hash: ReadonlyMap<string, string>): string | null {
  const fields = [...hash].flatMap(([user, events]) => {
    if (user === QUARANTINED.count) return events === '0' ? [] : [`${events} in all`];
    const all = Array.from({ length: events.length / QUARANTINED.length }, (_, at) =>
      events.slice(at * QUARANTINED.length, (at + 1) * QUARANTINED.length),
    );
    return [`${user} ${all.toSorted().join()}`];
  });
  return fields.length === 0 ? null : fields.toSorted().join('; ');
}

/** A part's events in quarantine. */
export const quarantineSuspect = ({ redis, pool }: Sides, part: TenantPart): Suspect => ({
  key: quarantineKey(part),
  part: '',
  redis: async () => quarantineText(new Map(Object.entries(await redis.hgetall(quarantineKey(part))))),
  postgres: async () => {
    const events = await waitingEvents(pool, part.tenantNo);
    return quarantineText(quarantineOf(events.filter(({ userId }) => isHeldBy(redis, part, userId))));
  },
});

/** How many of a part's IDs stand for other users. */
export const aliasesSuspect = ({ redis, pool }: Sides, part: TenantPart): Suspect => {
  const text = (count: number): string | null => (count === 0 ? null : `${count} users`);
  return {
    key: aliasesKey(part),
    part: '',
    redis: async () => text(await redis.hlen(aliasesKey(part))),
    postgres: async () => {
      const share = shareOf(redis, part);
      return text(share === null ? 0 : await countAliases(pool, share));
    },
  };
};

/** Sums over a set of IDs, independent of their order. Equal sets have equal sums; different sets almost never do. */
interface Sums {
  count: number;
  low: number;
  high: number;
}

const NONE: Readonly<Sums> = { count: 0, low: 0, high: 0 };

/** FNV-1a; each of the two sums has its own start value. */
function hash(id: string, begin: number): number {
  let value = begin;
  for (let at = 0; at < id.length; at += 1) value = Math.imul(value ^ id.charCodeAt(at), 16_777_619);
  return value;
}

function add(sums: Sums, id: string, times = 1): void {
  sums.count += times;
  sums.low = (sums.low + Math.imul(hash(id, 2_166_136_261), times)) | 0;
  sums.high = (sums.high + Math.imul(hash(id, 1_540_483_477), times)) | 0;
}

/** The members of sorted sets, as sums: one pass notes them, a later one compares them with Redis. Also counts in hashes. */
export class SetMembers {
  private readonly sets = new Map<string, Sums>();

  note(key: string, id: string): void {
    let sums = this.sets.get(key);
    if (sums === undefined) this.sets.set(key, (sums = { ...NONE }));
    add(sums, id);
  }

  /** Whether exactly these members were noted for a set. */
  async areAll(key: string, pieces: AsyncIterable<readonly string[]>): Promise<boolean> {
    const found = { ...NONE };
    for await (const ids of pieces) for (const id of ids) add(found, id);
    return this.isNoted(key, found);
  }

  /** Whether each of these was noted as often as its count says, and no others were noted. */
  async areCounted(
    key: string,
    pieces: AsyncIterable<readonly (readonly [id: string, count: number])[]>,
  ): Promise<boolean> {
    const found = { ...NONE };
    for await (const counts of pieces) for (const [id, count] of counts) add(found, id, count);
    return this.isNoted(key, found);
  }

  private isNoted(key: string, found: Readonly<Sums>): boolean {
    const noted = this.sets.get(key) ?? NONE;
    return noted.count === found.count && noted.low === found.low && noted.high === found.high;
  }
}

/** A value in Redis that differs from Postgres. */
export interface Difference {
  /** The Redis key. */
  key: string;
  /** The member, field or user; '' for the whole key. */
  part: string;
  redis: string;
  postgres: string;
}

/** A value that seemed different, and functions that read both sides again (`null` if there is no value). */
export interface Suspect {
  key: string;
  part: string;
  redis: () => Promise<string | null>;
  postgres: (round: Round) => Promise<string | null>;
}

interface Servers {
  redis: Redis;
  pool: Pool;
  shards: readonly number[];
}

const PATIENCE = { stillMs: 30_000, movingMs: 30_000 };
const TRIES = 10;

/** Postgres does not catch up with the outbox, so nothing can be compared. */
class NotStored extends Error {}

/** Resolves when Postgres holds everything that the outboxes of some shards held at the call. Throws NotStored after 30 s. */
export async function stored({ redis, pool, shards }: Servers): Promise<void> {
  const waiting = await shardsWithEntries(redis, shards);
  const reached = await Promise.all(waiting.map((shard) => isPersisted({ redis, pool }, shard, PATIENCE)));
  if (reached.includes(false)) throw new NotStored('The outbox is not being stored: is a worker running?');
}

/** The suspects that really differ while Redis did not change. A value that never rests counts as equal. */
export async function confirm(servers: Servers, suspects: readonly Suspect[]): Promise<Difference[]> {
  const found: Difference[] = [];
  let open = [...suspects];
  for (let tries = 0; open.length > 0 && tries < TRIES; tries += 1) {
    const before = await Promise.all(open.map((suspect) => suspect.redis()));
    await stored(servers);
    const round = new Round();
    const again: Suspect[] = [];
    for (const [index, suspect] of open.entries()) {
      const wanted = await suspect.postgres(round);
      const now = await suspect.redis();
      if (now === wanted) continue;
      if (now !== before[index]) again.push(suspect);
      else found.push({ key: suspect.key, part: suspect.part, redis: now ?? 'nothing', postgres: wanted ?? 'nothing' });
    }
    open = again;
  }
  return found;
}
