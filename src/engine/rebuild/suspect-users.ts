/** States, balances and places of users that differ between Redis and Postgres. */
import type { Pool } from 'pg';
import { type Outstanding, readOutstanding } from '../../postgres/balance-changes.ts';
import { storedState, type StoredUser } from '../../postgres/users/stored-states.ts';
import { type TenantPart, userKey } from '../../redis/keys.ts';
import { knownPart } from '../../redis/parts.ts';
import type { Sides, Suspect } from './confirmation.ts';
import { addTo } from '../../grouped.ts';
import { type Place, placesOf, stateOf, type TeamSums } from './derived-keys.ts';
import type { SetMembers } from './set-members.ts';
import { isHeldBy, LISTED } from './suspects.ts';

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
  if (state === null) return '';
  const { spent, holds } = stateOf({ state });
  return balanceText(
    Array.from(spent, ([systemNo, amount]) => ({
      systemNo,
      spent: amount,
      holds: holds.filter(({ system }) => system === systemNo).map(({ id, amount: held }) => `${id} ${held}`),
    })),
  );
}

/** The same of some users, from the changes of balances in Postgres. */
async function storedBalances(pool: Pool, users: readonly NamedUser[]): Promise<Map<string, string>> {
  const byUser = new Map<string, Outstanding[]>();
  const owners = users.map(({ tenantNo, id }) => ({ tenantNo, userId: id }));
  for (const each of await readOutstanding(pool, owners)) addTo(byUser, nameOf(each.tenantNo, each.userId), each);
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
    addTo(byShard, part.shard, { ...user, part });
    for (const place of placesOf(part, id, stateOf(user), await sides.boards.of(tenantNo))) {
      members.note(place.key, place.member);
      addTo(bySet, place.key, { ...place, tenantNo, id });
    }
    teams.add(part, stateOf(user), await sides.boards.of(tenantNo));
  }
  const suspects = await Promise.all([
    ...Array.from(byShard.values(), (some) => suspectStates(sides, some)),
    suspectBalances(sides, Array.from(byShard.values()).flat()),
    ...Array.from(bySet, ([key, standings]) => suspectScores(sides, key, standings)),
    // The members of a set are in one group.
    ...Array.from(bySet.values(), ([first]) => suspectGroup(sides, first!)),
  ]);
  return suspects.flat();
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
