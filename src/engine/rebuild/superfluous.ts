import type { Redis } from 'ioredis';
import { timeOfUse } from '../../redis/idempotency.ts';
import { ofTimedMember } from '../../packed/state.ts';
import { missingUsers } from '../../postgres/users/stored-states.ts';
import { boardOfKey, tenantKey, userKey } from '../../redis/keys.ts';
import { knownPart } from '../../redis/parts.ts';
import { groupsSuspect } from './suspects.ts';
import { placeSuspect, stateSuspect } from './suspect-users.ts';
import { type SetMembers } from './set-members.ts';
import { type Sides, type Suspect } from './confirmation.ts';
import { storedUses, usedKeySuspect, waitingUses } from './suspect-keys.ts';
import { placesOf, stateOf, useText } from './derived-keys.ts';

const AT_ONCE = 1_000;

/** Contents of keys that Postgres lacks. A set with exactly the noted `members` has no superfluous ones. */
export async function superfluous(sides: Sides, keys: readonly string[], members: SetMembers): Promise<Suspect[]> {
  const suspects = [...(await superfluousKeys(sides, keys)), ...(await superfluousUses(sides, keys))];
  for (const key of keys) {
    if (tenantKey(key)?.kind !== 'board') continue;
    if (await members.areAll(key, membersOf(sides.redis, key))) continue;
    for await (const ids of membersOf(sides.redis, key)) suspects.push(...(await superfluousMembers(sides, key, ids)));
  }
  return suspects;
}

/** Those of some keys that should not exist: users who are not in Postgres, and sets of groups. */
export async function superfluousKeys(sides: Sides, keys: readonly string[]): Promise<Suspect[]> {
  const suspects = await superfluousUsers(sides, keys);
  for (const key of keys) {
    const kind = tenantKey(key)?.kind;
    if (kind === 'board groups') suspects.push(...(await superfluousGroups(sides, key)));
  }
  return suspects;
}

/** A set of groups for a board without groups, or for a run that Redis no longer holds. */
async function superfluousGroups(sides: Sides, key: string): Promise<Suspect[]> {
  const run = boardOfKey(key);
  if (run === null) return [];
  const board = (await sides.boards.of(run.tenantNo)).get(run.boardNo);
  return board?.grouped === true && !board.cleared.has(run.runDay) ? [] : [groupsSuspect(sides, { ...run, key })];
}

/** Users who are in Redis but not in Postgres, or not in the part that holds them. */
async function superfluousUsers(sides: Sides, keys: readonly string[]): Promise<Suspect[]> {
  const users = keys.flatMap((key) => {
    const of = tenantKey(key);
    return of?.kind === 'user' ? [{ part: of, tenantNo: of.tenantNo, id: of.rest }] : [];
  });
  const missing = new Set((await missingUsers(sides.pool, users)).map(({ tenantNo, id }) => `${tenantNo} ${id}`));
  return users
    .filter(
      ({ part, tenantNo, id }) =>
        missing.has(`${tenantNo} ${id}`) || knownPart(sides.redis, tenantNo, id).shard !== part.shard,
    )
    .map(({ part, id }) => stateSuspect(sides, part, id));
}

/** The members of a sorted set, in pieces; may repeat some. */
async function* membersOf(redis: Redis, key: string): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const [next, flat] = await redis.zscan(key, cursor, 'COUNT', AT_ONCE);
    yield flat.filter((_, index) => index % 2 === 0);
    cursor = next;
  } while (cursor !== '0');
}

/** Those of some members of a board's sorted set who should not be in it according to their states. */
export async function superfluousMembers(sides: Sides, key: string, members: readonly string[]): Promise<Suspect[]> {
  const part = tenantKey(key)!;
  const { tenantNo } = part;
  const known = await sides.boards.of(tenantNo);
  const board = known.get(boardOfKey(key)?.boardNo ?? 0);
  const ids =
    board?.timed === true ? members.map((member) => ofTimedMember(member, board.hasSecondary).userId) : members;
  const states = ids.length === 0 ? [] : await sides.redis.mgetBuffer(ids.map((id) => userKey(part, id)));
  return ids.flatMap((id, index) => {
    const state = states[index] ?? null;
    const member = members[index]!;
    const places = state === null ? [] : placesOf(part, id, stateOf({ state }), known);
    const isPlace = places.some((place) => place.key === key && place.member === member);
    return isPlace ? [] : [placeSuspect(sides, { tenantNo, id, key, member })];
  });
}

/** A used idempotency key in Redis: its bucket, its field and the time of its event (epoch ms, as text). */
export interface HotUse {
  key: string;
  field: string;
  value: string;
}

/** The used keys in what HSCAN returned of a bucket. */
export const hotUses = (key: string, flat: readonly string[]): HotUse[] =>
  flat.flatMap((field, at) => (at % 2 === 0 ? [{ key, field, value: timeOfUse(flat[at + 1]!) }] : []));

/** The used idempotency keys in all buckets among some keys that belong to no event. */
async function superfluousUses(sides: Sides, keys: readonly string[]): Promise<Suspect[]> {
  const suspects: Suspect[] = [];
  let open = keys.flatMap((key) => (tenantKey(key)?.kind === 'idempotency keys' ? [{ key, cursor: '0' }] : []));
  while (open.length > 0) {
    const replies = await Promise.all(open.map(({ key, cursor }) => sides.redis.hscan(key, cursor, 'COUNT', AT_ONCE)));
    const used = replies.flatMap(([, flat], index) => hotUses(open[index]!.key, flat));
    suspects.push(...(await usesWithoutEvent(sides, used)));
    open = open.flatMap((bucket, index) => {
      const [cursor] = replies[index]!;
      return cursor === '0' ? [] : [{ ...bucket, cursor }];
    });
  }
  return suspects;
}

/** Those of some used keys that belong neither to a stored event nor to one in a dead letter. */
export async function usesWithoutEvent(sides: Sides, used: readonly HotUse[]): Promise<Suspect[]> {
  const stored = await storedUses(
    sides,
    used.map(({ value }) => value),
  );
  const others = used.filter((use) => !stored.has(useText(use)));
  const waiting = others.length === 0 ? new Set() : await waitingUses(sides);
  return others.filter((use) => !waiting.has(useText(use))).map((use) => usedKeySuspect(sides, use));
}
