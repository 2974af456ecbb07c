import type { Redis } from 'ioredis';
import { turned } from '../../domain/leaderboard.ts';
import { ofTimedMember, timedMember } from '../../packed/state.ts';
import { timedMemberOf } from '../../rules/leaderboards.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { boardKey } from '../../redis/keys.ts';
import { inParts, statesInSlices, tenantParts, userPart } from '../../redis/parts.ts';
import { compareBytes, type Member, type Standing, type RankedBoard, type Standings } from './standings.ts';

/** A group of a run of a board: what one ranking is made of. */
export interface RankedGroup {
  tenantNo: number;
  boardNo: number;
  /** First day of the run (epoch day). */
  runDay: number;
  /** '' on a board without a breakdown. */
  group: string;
}

/** How often a user is looked for whose score changes meanwhile. */
const FIND_TRIES = 10;

/** Members up to this place are read from the top of every part; later ones are searched for first. */
const NEAR = 1_000;

/**
 * Live standings in sorted sets, which events move: one for each part of the tenant. The sets hold scores, the answers
 * values (`turned`). Equal scores are ordered by part first, unless they rank by time. Every read takes O(log N) plus its
 * result; on a wide tenant, each member is counted once while events are in flight, and a page beyond `NEAR` takes about
 * 2 log N round trips. Ranks by time take up to log N round trips for each of these.
 */
export class LiveStandings implements Standings {
  private readonly redis: Redis;
  private readonly at: RankedGroup;
  private readonly board: RankedBoard;
  private readonly max: number | null;

  constructor(redis: Redis, at: RankedGroup, board: RankedBoard) {
    this.redis = redis;
    this.at = at;
    this.board = board;
    this.max = board.maxParticipants;
  }

  async page(from: number, count: number): Promise<Member[]> {
    const members = await this.best(from, count);
    return members.map(({ member, score }, index) =>
      this.isTimed
        ? { ...ofTimedMember(member, this.hasSecondary), score: this.turned(score), rank: from + index + 1 }
        : { userId: member, score: this.turned(score) },
    );
  }

  /** A page with scores as in the sets. */
  private async best(from: number, count: number): Promise<SetMember[]> {
    if (count <= 0) return [];
    const { keys } = this;
    if (keys.length === 1) return this.membersOf(keys[0]!, from, count);
    const isNear = from + count <= NEAR;
    const starts = isNear ? keys.map(() => 0) : await this.startsOf(from);
    const each = isNear ? from + count : count;
    const parts = await Promise.all(keys.map((key, index) => this.membersOf(key, starts[index]!, each)));
    // The sort is stable, so equal scores keep the order of the parts.
    const members = parts.flat().sort((a, b) => b.score - a.score || (this.isTimed ? byMember(a, b) : 0));
    return isNear ? members.slice(from, from + count) : members.slice(0, count);
  }

  async rankOf({ userId, score, reached, secondary = null }: Member): Promise<number> {
    const inSet = this.turned(score);
    if (!this.isTimed) return 1 + sumOf(await this.counts(`(${inSet}`, '+inf'));
    return 1 + sumOf(await this.before({ member: timedMember(userId, reached ?? 0, secondary), score: inSet }));
  }

  async find(userId: string): Promise<Standing | null> {
    const parts = tenantParts(this.redis, this.at.tenantNo);
    const own = parts.indexOf(userPart(this.redis, this.at.tenantNo, userId));
    const key = boardKey(parts[own]!, this.at);
    let member = await this.memberOf(userId);
    for (let tries = 1; ; tries += 1) {
      const [placeInPart, text] = await Promise.all([this.redis.zrevrank(key, member), this.redis.zscore(key, member)]);
      if (placeInPart === null || text === null) {
        // An event may have replaced the member.
        const now = await this.memberOf(userId);
        if (now === member || tries === FIND_TRIES) return null;
        member = now;
        continue;
      }
      const score = Number(text);
      if (this.isTimed) {
        const others = this.keys.filter((_, index) => index !== own);
        const before = await Promise.all(others.map((other) => membersBefore(this.redis, other, { member, score })));
        const place = placeInPart + sumOf(before);
        const rank = place + 1;
        const { secondary = null } = ofTimedMember(member, this.hasSecondary);
        return { place, rank, score: this.turned(score), secondary, isOn: this.max === null || rank <= this.max };
      }
      const [above, equal, after] = await Promise.all([
        this.counts(`(${score}`, '+inf'),
        own === 0 ? [] : this.counts(score, score),
        this.redis.zscore(key, userId),
      ]);
      // A score that rose before the count would be counted above itself.
      if (after !== text && tries < FIND_TRIES) continue;
      const rank = 1 + sumOf(above);
      const place = sumOf(above) - above[own]! + sumOf(equal.slice(0, own)) + placeInPart;
      return { place, rank, score: this.turned(score), isOn: this.max === null || rank <= this.max };
    }
  }

  /** Those of some users who have a score, with one command for each part. */
  async scoresOf(userIds: readonly string[]): Promise<Member[]> {
    const members = this.isTimed ? await this.timedMembers(userIds) : userIds;
    const scores = await inParts(this.redis, this.at.tenantNo, {
      users: userIds.map((userId, index) => ({ userId, member: members[index]! })),
      userId: ({ userId }) => userId,
      call: (part, some) => this.redis.zmscore(boardKey(part, this.at), ...some.map(({ member }) => member)),
    });
    return userIds.flatMap((userId, index) => {
      const text = scores[index] ?? null;
      if (text === null) return [];
      const member = { userId, score: this.turned(Number(text)) };
      return [this.isTimed ? { ...ofTimedMember(members[index]!, this.hasSecondary), ...member } : member];
    });
  }

  async scored(): Promise<number> {
    return sumOf(await Promise.all(this.keys.map((key) => this.redis.zcard(key))));
  }

  async participants(): Promise<number> {
    if (this.isTimed) return Math.min(await this.scored(), this.max ?? Infinity);
    const [last] = this.max === null ? [] : await this.best(this.max - 1, 1);
    return last === undefined ? this.scored() : sumOf(await this.counts(last.score, '+inf'));
  }

  async participantsOf(places: number): Promise<number> {
    // A rank is never greater than the place, counted from 1.
    return this.max === null || places <= this.max ? places : Math.min(places, await this.participants());
  }

  private get isTimed(): boolean {
    return this.board.ties === 'first';
  }

  private get hasSecondary(): boolean {
    return this.board.secondaryAttributeId !== null;
  }

  private async memberOf(userId: string): Promise<string> {
    return this.isTimed ? (await this.timedMembers([userId]))[0]! : userId;
  }

  /** The users' members by their states; those of unknown users and scores are not in the sets. */
  private async timedMembers(userIds: readonly string[]): Promise<string[]> {
    const { tenantNo, boardNo, runDay } = this.at;
    const run = { board: boardNo, runDay };
    const members: string[] = [];
    for await (const { userId, packed } of statesInSlices(this.redis, tenantNo, userIds))
      members.push(packed === null ? userId : timedMemberOf(userId, decodeUser(packed), run, this.hasSecondary));
    return members;
  }

  /**
   * The number of members before one, by part: those with a higher score and, among equal scores, those with a greater
   * member, which are searched for.
   */
  private async before(member: SetMember): Promise<number[]> {
    return Promise.all(this.keys.map((key) => membersBefore(this.redis, key, member)));
  }

  private turned(score: number): number {
    return turned(this.board, score);
  }

  private get keys(): string[] {
    return tenantParts(this.redis, this.at.tenantNo).map((part) => boardKey(part, this.at));
  }

  private async membersOf(key: string, from: number, count: number): Promise<SetMember[]> {
    const flat = (await this.redis.zrevrange(key, from, from + count - 1, 'WITHSCORES')).flat();
    return Array.from({ length: flat.length / 2 }, (_, index) => ({
      member: String(flat[index * 2]),
      score: Number(flat[index * 2 + 1]),
    }));
  }

  /** The number of members in a range of scores, by part. */
  private counts(min: number | string, max: number | string): Promise<number[]> {
    return Promise.all(this.keys.map((key) => this.redis.zcount(key, min, max)));
  }

  /**
   * The place in each part at which the members from a place on begin. Halves the range in which the score of that place
   * may lie, in the part that has most of it left.
   */
  private async startsOf(place: number): Promise<number[]> {
    const { keys } = this;
    const lows = keys.map(() => 0);
    const highs = await Promise.all(keys.map((key) => this.redis.zcard(key)));
    for (;;) {
      const widest = keys
        .map((_, index) => index)
        .reduce((a, b) => (highs[b]! - lows[b]! > highs[a]! - lows[a]! ? b : a));
      if (highs[widest]! <= lows[widest]!) return lows;
      const [pivot] = await this.membersOf(keys[widest]!, Math.floor((lows[widest]! + highs[widest]!) / 2), 1);
      if (pivot === undefined) return lows;
      const [above, equal] = this.isTimed
        ? [await this.before(pivot), keys.map((_, index) => (index === widest ? 1 : 0))]
        : await Promise.all([this.counts(`(${pivot.score}`, '+inf'), this.counts(pivot.score, pivot.score)]);
      const first = sumOf(above);
      if (place < first) for (const index of keys.keys()) highs[index] = Math.min(highs[index]!, above[index]!);
      else if (place >= first + sumOf(equal))
        for (const index of keys.keys()) lows[index] = Math.max(lows[index]!, above[index]! + equal[index]!);
      else return startsAmongEqual(above, equal, place - first);
    }
  }
}

/** A member of a sorted set, with its score there. */
interface SetMember {
  member: string;
  score: number;
}

/** Greater members first, in the order of Redis. */
const byMember = (a: { member: string }, b: { member: string }): number => compareBytes(b.member, a.member);

/** The number of members of a sorted set before a member of any set. Halves the range of those with its score. */
export async function membersBefore(redis: Redis, key: string, { member, score }: SetMember): Promise<number> {
  let [low, high] = await Promise.all([redis.zcount(key, `(${score}`, '+inf'), redis.zcount(key, score, '+inf')]);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [middleMember] = await redis.zrevrange(key, middle, middle);
    if (middleMember !== undefined && byMember({ member: middleMember }, { member }) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The starts, given the members above a score and with it, by part, and how many of the latter come before. */
function startsAmongEqual(above: readonly number[], equal: readonly number[], before: number): number[] {
  let left = before;
  return above.map((start, index) => {
    const skipped = Math.min(left, equal[index]!);
    left -= skipped;
    return start + skipped;
  });
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
