import type { Redis } from 'ioredis';

/** Who stands on a board with which score. */
export interface Member {
  userId: string;
  score: number;
}

/**
 * The scores in one run and group of a board, best first, equal ones in one fixed order (descending by the bytes of
 * the user ID). Places count from 0. Everyone with a score is in it: `maxParticipants` is the reader's business.
 */
export interface Standings {
  /** At most `count` members from a place on. */
  page(from: number, count: number): Promise<Member[]>;
  /** The user's place and score; null without a score. */
  find(userId: string): Promise<{ place: number; score: number } | null>;
  /** How many have a higher score. */
  above(score: number): Promise<number>;
  /** How many have that score or a higher one. */
  atLeast(score: number): Promise<number>;
}

/** Standings that events move, in a sorted set. Every read is O(log N) besides what it returns. */
export class LiveStandings implements Standings {
  private readonly redis: Redis;
  private readonly key: string;

  constructor(redis: Redis, key: string) {
    this.redis = redis;
    this.key = key;
  }

  async page(from: number, count: number): Promise<Member[]> {
    if (count <= 0) return [];
    const flat = (await this.redis.zrevrange(this.key, from, from + count - 1, 'WITHSCORES')).flat();
    return Array.from({ length: flat.length / 2 }, (_, index) => ({
      userId: String(flat[index * 2]),
      score: Number(flat[index * 2 + 1]),
    }));
  }

  async find(userId: string): Promise<{ place: number; score: number } | null> {
    const [place, score] = await Promise.all([
      this.redis.zrevrank(this.key, userId),
      this.redis.zscore(this.key, userId),
    ]);
    return place === null || score === null ? null : { place, score: Number(score) };
  }

  above(score: number): Promise<number> {
    return this.redis.zcount(this.key, `(${score}`, '+inf');
  }

  atLeast(score: number): Promise<number> {
    return this.redis.zcount(this.key, score, '+inf');
  }
}
