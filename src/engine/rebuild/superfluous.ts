import type { Redis } from 'ioredis';
import { timeOfUse } from '../../redis/idempotency.ts';
import { missingUsers } from '../../postgres/users/stored-states.ts';
import { boardOfKey, tenantKey, userKey } from '../../redis/keys.ts';
import {
  groupsSuspect,
  placeSuspect,
  type SetMembers,
  type Sides,
  stateSuspect,
  storedUses,
  type Suspect,
  usedKeySuspect,
  waitingUses,
} from './suspects.ts';
import { placesOf, stateOf, useText } from './derived-keys.ts';

const AT_ONCE = 1_000;

/** Contents of keys that Postgres lacks. A set with exactly the noted `members` has no superfluous ones. */
export async function superfluous(sides: Sides, keys: readonly string[], members: SetMembers): Promise<Suspect[]> {
  const suspects = [...(await superfluousUsers(sides, keys)), ...(await superfluousKeys(sides, keys))];
  for (const key of keys) {
    const of = tenantKey(key);
    if (of?.kind === 'board') {
      if (!(await members.areAll(key, membersOf(sides.redis, key))))
        suspects.push(...(await superfluousMembers(sides, key, of.tenantNo)));
    } else if (of?.kind === 'board groups') suspects.push(...(await superfluousGroups(sides, key)));
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

/** Users who are in Redis but not in Postgres. */
async function superfluousUsers(sides: Sides, keys: readonly string[]): Promise<Suspect[]> {
  const users = keys.flatMap((key) => {
    const of = tenantKey(key);
    return of?.kind === 'user' ? [{ tenantNo: of.tenantNo, id: of.rest }] : [];
  });
  return (await missingUsers(sides.pool, users)).map(({ tenantNo, id }) => stateSuspect(sides, tenantNo, id));
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

/** The members of a sorted set who should not be in it according to their states. */
async function superfluousMembers(sides: Sides, key: string, tenantNo: number): Promise<Suspect[]> {
  const { redis, boards } = sides;
  const suspects: Suspect[] = [];
  for await (const ids of membersOf(redis, key)) {
    const states = ids.length === 0 ? [] : await redis.mgetBuffer(ids.map((id) => userKey(tenantNo, id)));
    const known = await boards.of(tenantNo);
    for (const [index, id] of ids.entries()) {
      const state = states[index] ?? null;
      const places = state === null ? [] : placesOf(tenantNo, stateOf({ state }), known);
      if (!places.some((place) => place.key === key)) suspects.push(placeSuspect(sides, { tenantNo, id, key }));
    }
  }
  return suspects;
}

/** The used idempotency keys that belong neither to a stored event nor to one in a dead letter. */
async function superfluousKeys(sides: Sides, keys: readonly string[]): Promise<Suspect[]> {
  const { redis, pool } = sides;
  const suspects: Suspect[] = [];
  let open = keys.flatMap((key) => {
    const of = tenantKey(key);
    return of?.kind === 'idempotency keys' ? [{ key, cursor: '0' }] : [];
  });
  while (open.length > 0) {
    const replies = await Promise.all(open.map(({ key, cursor }) => redis.hscan(key, cursor, 'COUNT', AT_ONCE)));
    const used = replies.flatMap(([, flat], index) =>
      flat.flatMap((field, at) =>
        at % 2 === 0 ? [{ key: open[index]!.key, field, value: timeOfUse(flat[at + 1]!) }] : [],
      ),
    );
    const stored = await storedUses(
      pool,
      used.map(({ value }) => value),
    );
    const others = used.filter((field) => !stored.has(useText(field)));
    const waiting = others.length === 0 ? new Set() : await waitingUses(sides);
    for (const field of others) if (!waiting.has(useText(field))) suspects.push(usedKeySuspect(sides, field));
    open = open.flatMap((bucket, index) => {
      const [cursor] = replies[index]!;
      return cursor === '0' ? [] : [{ ...bucket, cursor }];
    });
  }
  return suspects;
}
