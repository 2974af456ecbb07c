/** Differences between Redis and Postgres: found first, then confirmed by a second read. */
import type { Redis } from 'ioredis';
import { createHash } from 'node:crypto';
import { COUNTER, completionsField } from '../../packed/call-fields.ts';
import { QUARANTINED } from '../../packed/guard-fields.ts';
import { waitingEvents } from '../../postgres/corrections/quarantine.ts';
import { countAliases } from '../../postgres/users/merges.ts';
import { completionCounts, countCompletions, countUsersIn, pointsTotals } from '../../postgres/users/stored-states.ts';
import { aliasesKey, countersKey, quarantineKey, tenantKey, type TenantPart } from '../../redis/keys.ts';
import { totalFields } from '../../redis/lua-library.ts';
import { knownPart, shareOf } from '../../redis/parts.ts';
import type { Difference, Sides, Suspect } from './confirmation.ts';
import { type Generations, quarantineOf, type TeamSums } from './derived-keys.ts';
import type { SetMembers } from './set-members.ts';

export const isHeldBy = (redis: Redis, { tenantNo, shard }: TenantPart, id: string): boolean =>
  knownPart(redis, tenantNo, id).shard === shard;

export const LISTED = 'listed';

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
  redis: () => heldText(sides.redis, key),
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

/** `users`, or the completions of an achievement. The generation of new users is compared separately. */
const COUNTS = /^(users|a\d+)$/;

/** The fields of a part's counters that seem to differ, in order. */
export async function differingCounters({ redis, pool }: Sides, part: TenantPart): Promise<string[]> {
  const inRedis = await redis.hgetall(countersKey(part));
  const inPostgres = new Map<string, number>();
  const share = shareOf(redis, part);
  if (share !== null) {
    inPostgres.set(COUNTER.users, await countUsersIn(pool, share));
    for (const [no, count] of await completionCounts(pool, share)) inPostgres.set(completionsField(no), count);
  }
  const names = new Set([...inPostgres.keys(), ...Object.keys(inRedis).filter((field) => COUNTS.test(field))]);
  return [...names].toSorted().filter((field) => Number(inRedis[field] ?? 0) !== (inPostgres.get(field) ?? 0));
}

/**
 * The parts' counters of generations that are below the highest one of their users. They may be above that, since the last
 * deleted user need not have returned.
 */
export async function lowGenerations(redis: Redis, { youngest }: Generations): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const [key, generation] of youngest) {
    const held = await redis.hget(key, COUNTER.generation);
    if (Number(held ?? 0) < generation)
      differences.push({ key, part: COUNTER.generation, redis: held ?? 'nothing', postgres: String(generation) });
  }
  return differences;
}

/** The counts of a points system if they differ from the users' states: one suspect, since they change together. */
export async function suspectPoints({ redis, pool }: Sides, key: string, noted: SetMembers): Promise<Suspect[]> {
  if (await noted.areCounted(key, heldCounts(redis, key))) return [];
  const { rest, ...part } = tenantKey(key)!;
  const postgresText = async (): Promise<string | null> => {
    const counts = new Map<string, number>();
    const share = shareOf(redis, part);
    for (const { total, users } of share === null ? [] : await pointsTotals(pool, share, Number(rest)))
      for (const field of totalFields(total)) counts.set(field, (counts.get(field) ?? 0) + users);
    return countsText(counts);
  };
  return [{ key, part: '', redis: () => heldText(redis, key), postgres: postgresText }];
}

const AT_ONCE = 1_000;

/** The counts of a hash in Redis, in pieces, since there may be as many as users. */
async function* heldCounts(redis: Redis, key: string): AsyncGenerator<[field: string, count: string][]> {
  let cursor = '0';
  do {
    const [next, flat] = await redis.hscan(key, cursor, 'COUNT', AT_ONCE);
    yield flat.flatMap((field, at) => (at % 2 === 0 ? [[field, flat[at + 1]!] as [string, string]] : []));
    cursor = next;
  } while (cursor !== '0');
}

async function heldText(redis: Redis, key: string): Promise<string | null> {
  const counts = new Map<string, string>();
  for await (const piece of heldCounts(redis, key)) for (const [field, count] of piece) counts.set(field, count);
  return countsText(counts);
}

/** Maximum number of counts to show in full; longer lists are shown as a digest. */
const LEGIBLE = 20;

/** Equal counts give equal texts; `null` if nobody has points. */
function countsText(counts: ReadonlyMap<string, number | bigint | string>): string | null {
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
const quarantineSuspect = ({ redis, pool }: Sides, part: TenantPart): Suspect => ({
  key: quarantineKey(part),
  part: '',
  redis: async () => quarantineText(new Map(Object.entries(await redis.hgetall(quarantineKey(part))))),
  postgres: async () => {
    const events = await waitingEvents(pool, part.tenantNo);
    return quarantineText(quarantineOf(events.filter(({ userId }) => isHeldBy(redis, part, userId))));
  },
});

/** How many of a part's IDs stand for other users. */
const aliasesSuspect = ({ redis, pool }: Sides, part: TenantPart): Suspect => {
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

/** What Redis holds of a part as a whole: events in quarantine, and IDs that stand for other users. */
export const wholePartSuspects = (sides: Sides, part: TenantPart): Suspect[] => [
  quarantineSuspect(sides, part),
  aliasesSuspect(sides, part),
];
