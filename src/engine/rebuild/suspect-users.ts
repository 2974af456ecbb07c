import type { StoredUser } from '../../postgres/rebuild/read-users.ts';
import { shardOf, userKey } from '../../redis/keys.ts';
import type { Suspect } from './confirm.ts';
import { placesOf, stateOf, type Place } from './derived-keys.ts';
import type { SetMembers } from './set-members.ts';
import { groupSuspect, placeSuspect, stateSuspect, type Sides } from './suspects.ts';

/** A place of a user. */
type Standing = Place & { tenantNo: number; id: string };

/**
 * What of some users is not in Redis as it should be; who should have which place is noted in `members`. One command a set,
 * not one a place.
 */
export async function suspectUsers(
  sides: Sides,
  users: readonly StoredUser[],
  members: SetMembers,
): Promise<Suspect[]> {
  const byShard = new Map<number, StoredUser[]>();
  const bySet = new Map<string, Standing[]>();
  for (const user of users) {
    const { tenantNo, id } = user;
    listed(byShard, shardOf(tenantNo)).push(user);
    for (const place of placesOf(tenantNo, stateOf(user), await sides.boards.of(tenantNo))) {
      members.note(place.key, id);
      listed(bySet, place.key).push({ ...place, tenantNo, id });
    }
  }
  const found = await Promise.all([
    ...Array.from(byShard.values(), (some) => suspectStates(sides, some)),
    ...Array.from(bySet, ([key, standings]) => suspectScores(sides, key, standings)),
    // All of a set are of one group.
    ...Array.from(bySet.values(), ([first]) => suspectGroup(sides, first!)),
  ]);
  return found.flat();
}

/** The list under a key, made where there is none. */
function listed<K, V>(lists: Map<K, V[]>, key: K): V[] {
  const known = lists.get(key);
  if (known !== undefined) return known;
  const made: V[] = [];
  lists.set(key, made);
  return made;
}

async function suspectStates(sides: Sides, users: readonly StoredUser[]): Promise<Suspect[]> {
  const states = await sides.redis.mgetBuffer(users.map(({ tenantNo, id }) => userKey(tenantNo, id)));
  return users
    .filter(({ state }, index) => states[index]?.equals(state) !== true)
    .map(({ tenantNo, id }) => stateSuspect(sides, tenantNo, id));
}

async function suspectScores(sides: Sides, key: string, standings: readonly Standing[]): Promise<Suspect[]> {
  const scores = await sides.redis.zmscore(key, ...standings.map(({ id }) => id));
  return standings
    .filter(({ score }, index) => (scores[index] ?? null) === null || Number(scores[index]) !== Number(score))
    .map(({ tenantNo, id }) => placeSuspect(sides, { tenantNo, id, key }));
}

async function suspectGroup(sides: Sides, { tenantNo, id, listedIn }: Standing): Promise<Suspect[]> {
  if (listedIn === null || (await sides.redis.sismember(listedIn.key, listedIn.group)) === 1) return [];
  return [groupSuspect(sides, { tenantNo, id, ...listedIn })];
}
