import type { Redis } from 'ioredis';

/** Who is on a board, with which score. */
export interface Member {
  userId: string;
  score: number;
}

/** A member's place, from 0, and rank: equal scores share a rank (1, 2, 2, 4). */
export interface Placed {
  place: number;
  rank: number;
  score: number;
}

/**
 * The scores in one run and group of a board, best first, equal ones in one fixed order (descending by the bytes of
 * the user ID). On the board are those with a rank up to its maximum: so that those who share the last one are all
 * on it. They come first; behind them may be others, who only have a score.
 */
export interface Standings {
  /** At most `count` members from a place on. */
  page(from: number, count: number): Promise<Member[]>;
  /** The rank of a member. */
  rankOf(member: Member): Promise<number>;
  /** The user's place and rank; null for one who is not on the board. */
  find(userId: string): Promise<Placed | null>;
  /** How many are on the board. */
  participants(): Promise<number>;
  /** The same where only the first `places` matter: no more than that, and maybe more than there are members. */
  participantsOf(places: number): Promise<number>;
}

/** Standings that events move, in a sorted set. Every read is O(log N) besides what it returns. */
export class LiveStandings implements Standings {
  private readonly redis: Redis;
  private readonly key: string;
  private readonly max: number | null;

  /** @param max how many ranks are on the board; null: all */
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
    const [place, text] = await Promise.all([
      this.redis.zrevrank(this.key, userId),
      this.redis.zscore(this.key, userId),
    ]);
    if (place === null || text === null) return null;
    const score = Number(text);
    const rank = await this.rankOf({ score });
    return this.max !== null && rank > this.max ? null : { place, rank, score };
  }

  async participants(): Promise<number> {
    if (this.max === null) return this.redis.zcard(this.key);
    const [last] = await this.page(this.max - 1, 1);
    return last === undefined ? this.redis.zcard(this.key) : this.redis.zcount(this.key, last.score, '+inf');
  }

  async participantsOf(places: number): Promise<number> {
    // Nobody's rank is greater than the place, counted from 1.
    return this.max === null || places <= this.max ? places : Math.min(places, await this.participants());
  }
}
