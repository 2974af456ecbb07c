import type { Redis } from 'ioredis';
import { nameInState } from '../../packed/state.ts';
import { userKey } from '../../redis/keys.ts';
import { Slices } from '../../slices.ts';

export interface Member {
  userId: string;
  score: number;
}

/** A member's place (from 0) and rank. Equal scores share a rank: 1, 2, 2, 4. */
export interface Placed {
  place: number;
  rank: number;
  score: number;
}

/**
 * The scores in one run and group of a board, best first; equal ones in descending byte order of the user ID. Users
 * with a rank up to the board's maximum are on the board, including all who share the last rank. Other users with a
 * score may follow them.
 */
export interface Standings {
  /** At most `count` members, starting at a place. */
  page(from: number, count: number): Promise<Member[]>;
  rankOf(member: Member): Promise<number>;
  /** The user's place and rank; `null` if the user is not on the board. */
  find(userId: string): Promise<Placed | null>;
  participants(): Promise<number>;
  /** The same, at most `places`. Cheaper, but may exceed the number of members. */
  participantsOf(places: number): Promise<number>;
}

/** How often a user is looked for whose score changes meanwhile. */
const FIND_TRIES = 10;

/** Live standings in a sorted set, which events move. Every read takes O(log N) plus its result. */
export class LiveStandings implements Standings {
  private readonly redis: Redis;
  private readonly key: string;
  private readonly max: number | null;

  /** @param max number of ranks on the board; `null` for all */
  constructor(redis: Redis, key: string, max: number | null) {
    this.redis = redis;
    this.key = key;
    this.max = max;
  }

  async page(from: number, count: number): Promise<Member[]> {
    if (count <= 0) return [];
    const flat = (await this.redis.zrevrange(this.key, from, from + count - 1, 'WITHSCORES')).flat();
    return Array.from({ length: flat.length / 2 }, (_, index) => ({
      userId: String(flat[index * 2]),
      score: Number(flat[index * 2 + 1]),
    }));
  }

  async rankOf({ score }: { score: number }): Promise<number> {
    return 1 + (await this.redis.zcount(this.key, `(${score}`, '+inf'));
  }

  async find(userId: string): Promise<Placed | null> {
    for (let tries = 1; ; tries += 1) {
      const [place, text] = await Promise.all([
        this.redis.zrevrank(this.key, userId),
        this.redis.zscore(this.key, userId),
      ]);
      if (place === null || text === null) return null;
      const score = Number(text);
      const [rank, after] = await Promise.all([this.rankOf({ score }), this.redis.zscore(this.key, userId)]);
      // A score that rose before the count would be counted above itself.
      if (after !== text && tries < FIND_TRIES) continue;
      return this.max !== null && rank > this.max ? null : { place, rank, score };
    }
  }

  async participants(): Promise<number> {
    if (this.max === null) return this.redis.zcard(this.key);
    const [last] = await this.page(this.max - 1, 1);
    return last === undefined ? this.redis.zcard(this.key) : this.redis.zcount(this.key, last.score, '+inf');
  }

  async participantsOf(places: number): Promise<number> {
    // A rank is never greater than the place, counted from 1.
    return this.max === null || places <= this.max ? places : Math.min(places, await this.participants());
  }
}

export interface RankedMember extends Member {
  rank: number;
}

/** Members are read in chunks, so that no single command blocks Redis for long. */
const CHUNK = 1000;

/** Members in order with their ranks. The first rank follows from `before` or the place, or is queried. */
export async function ranked(
  standings: Standings,
  members: readonly Member[],
  { from, before }: { from: number; before: { rank: number; score: number } | undefined },
): Promise<RankedMember[]> {
  const result: RankedMember[] = [];
  let last = before;
  for (const [index, member] of members.entries()) {
    const place = from + index;
    const asked = last === undefined && place > 0;
    const rank = asked ? await standings.rankOf(member) : last?.score === member.score ? last.rank : place + 1;
    last = { ...member, rank };
    result.push({ ...member, rank });
  }
  return result;
}

/**
 * A page of a board, best first, with the place (from 0) at which it begins. With `userId`, the offset is relative to
 * that user's place and may be negative; the page begins with the first place at the earliest. Empty for a user who is
 * not on the board. Takes several reads, so an event in between may make members and ranks differ.
 */
export async function memberPage(
  standings: Standings,
  { offset, limit, userId }: { offset: number; limit: number; userId?: string | undefined },
): Promise<{ from: number; members: Member[] }> {
  let from = offset;
  if (userId !== undefined) {
    const found = await standings.find(userId);
    if (found === null) return { from, members: [] };
    from = Math.max(found.place + offset, 0);
  }
  const count = (await standings.participantsOf(from + limit)) - from;
  const members: Member[] = [];
  while (members.length < count) {
    const asked = Math.min(CHUNK, count - members.length);
    const chunk = await standings.page(from + members.length, asked);
    members.push(...chunk);
    if (chunk.length < asked) break;
  }
  return { from, members };
}

/** The users' names, in order; `null` for a user without a name or a state. Large states are read in slices. */
export async function userNames(
  redis: Redis,
  tenantNo: number,
  users: readonly { userId: string }[],
): Promise<(string | null)[]> {
  const names: (string | null)[] = [];
  for (let from = 0; from < users.length; from += CHUNK) {
    const keys = users.slice(from, from + CHUNK).map(({ userId }) => userKey(tenantNo, userId));
    const states = await redis.mgetBuffer(keys);
    const slices = new Slices();
    for (const packed of states) {
      if (slices.over) await slices.turn();
      names.push(packed === null ? null : nameInState(packed));
    }
  }
  return names;
}
