import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { decimalNumber } from '../../domain/decimal.ts';
import { floorOf, turned } from '../../domain/leaderboard.ts';
import {
  hasPlace,
  memberInState,
  nameInState,
  ofTimedMember,
  type PackedState,
  scoreSecondary,
  scoresOf,
  scoreTime,
  timedMember,
  unpackState,
} from '../../packed/state.ts';
import { USER } from '../../packed/user-fields.ts';
import { boardKey } from '../../redis/keys.ts';
import { inParts, statesInSlices, tenantParts, userPart } from '../../redis/parts.ts';
import { Slices, sortedInSlices } from '../../slices.ts';

/** A user with a value on a board. */
export interface Member {
  userId: string;
  score: number;
  /** When the score was reached (epoch, microseconds), on boards on which this ranks equal scores. */
  reached?: number | null;
  /** The rank number of the secondary score (0 for none), on boards that have one. */
  secondary?: number | null;
  /** The JSON that the entry shows, in the standings of a final run; absent in those of others. */
  metadata?: string | null;
  /** The rank, if known without another read. */
  rank?: number;
}

/** A member's place (from 0) and rank. Equal scores share a rank: 1, 2, 2, 4, unless the board ranks them by time. */
export interface Placed {
  place: number;
  rank: number;
  score: number;
  /** As of a member. */
  secondary?: number | null;
  /** Whether the rank is within the board's maximum. */
  isOn: boolean;
}

/**
 * The values in one run and group of a board, best first; equal ones in descending byte order of the user ID or, on boards
 * that rank them by time, earliest first. Users
 * with a rank up to the board's maximum are on the board, including all who share the last rank. Other users with a
 * score may follow them.
 */
export interface Standings {
  /** At most `count` members, starting at a place. */
  page(from: number, count: number): Promise<Member[]>;
  rankOf(member: Member): Promise<number>;
  /** The user's place and rank; `null` for a user without a score. */
  find(userId: string): Promise<Placed | null>;
  /** The number of users with a score, on the board or not. */
  scored(): Promise<number>;
  /** The number of users on the board. */
  participants(): Promise<number>;
  /** The same, at most `places`. Cheaper, but may exceed the number of members. */
  participantsOf(places: number): Promise<number>;
}

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

/** The fields of a board that its standings depend on. */
export type RankedBoard = Pick<
  Leaderboard,
  'aggregate' | 'order' | 'ties' | 'secondaryAttributeId' | 'maxParticipants'
>;

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

  async find(userId: string): Promise<Placed | null> {
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
    const { hasSecondary } = this;
    const members: string[] = [];
    for await (const { userId, packed } of statesInSlices(this.redis, tenantNo, userIds))
      members.push(
        packed === null ? userId : memberInState(userId, unpackState(packed), { boardNo, runDay, hasSecondary }),
      );
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

/** Compares texts by the bytes of their UTF-8, without encoding them: only units beyond the surrogates sort otherwise. */
function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [unitOfA, unitOfB] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (unitOfA !== unitOfB) return inBytes(unitOfA) - inBytes(unitOfB);
  }
  return a.length - b.length;
}

/** A UTF-16 unit, moved to where its character's UTF-8 sorts: surrogates after all others. */
const inBytes = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/** The number of members of a sorted set before a member of any set. Halves the range of those with its score. */
export async function membersBefore(redis: Redis, key: string, { member, score }: SetMember): Promise<number> {
  let [low, high] = await Promise.all([redis.zcount(key, `(${score}`, '+inf'), redis.zcount(key, score, '+inf')]);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [found] = await redis.zrevrange(key, middle, middle);
    if (found !== undefined && byMember({ member: found }, { member }) < 0) low = middle + 1;
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

/** The standings of some members alone, without a maximum of ranks. A read costs its page, however many members there are. */
export class GivenStandings implements Standings {
  private readonly members: readonly (Member & { rank: number })[];
  private readonly places: ReadonlyMap<string, number>;

  private constructor(members: readonly (Member & { rank: number })[], places: ReadonlyMap<string, number>) {
    this.members = members;
    this.places = places;
  }

  /** Ranks the members, in slices. */
  static async of(given: readonly Member[], board: RankedBoard): Promise<GivenStandings> {
    const sorted = await sortedInSlices(
      given,
      (a, b) =>
        turned(board, b.score - a.score) ||
        (b.secondary ?? 0) - (a.secondary ?? 0) ||
        (a.reached ?? 0) - (b.reached ?? 0) ||
        compareBytes(b.userId, a.userId),
    );
    const members: (Member & { rank: number })[] = [];
    const places = new Map<string, number>();
    const slices = new Slices();
    for (const [place, member] of sorted.entries()) {
      const before = members[place - 1];
      const isTie = board.ties !== 'first' && before?.score === member.score;
      members.push({ ...member, rank: isTie ? before!.rank : place + 1 });
      places.set(member.userId, place);
      if (slices.over) await slices.turn();
    }
    return new GivenStandings(members, places);
  }

  async page(from: number, count: number): Promise<Member[]> {
    return this.members.slice(from, from + count);
  }

  async rankOf({ userId }: Member): Promise<number> {
    return this.members[this.places.get(userId)!]!.rank;
  }

  async find(userId: string): Promise<Placed | null> {
    const place = this.places.get(userId);
    return place === undefined ? null : { ...this.members[place]!, place, isOn: true };
  }

  async scored(): Promise<number> {
    return this.members.length;
  }

  async participants(): Promise<number> {
    return this.members.length;
  }

  async participantsOf(places: number): Promise<number> {
    return Math.min(places, this.members.length);
  }
}

/** A user's value in a run of a board, and its group, as in the sorted sets; `null` for a user who is not ranked. */
export function rankedScore(
  state: PackedState,
  board: Leaderboard,
  runDay: number,
): { group: string; score: number; reached?: number; secondary?: number } | null {
  if (state[USER.hidden] !== undefined) return null;
  const placed = { grouped: board.breakdownAttributes.length > 0, floor: floorOf(board) };
  for (const score of scoresOf(state[USER.boards] ?? []))
    if (score.boardNo === board.no && score.runDay === runDay && hasPlace(score, placed))
      return {
        group: score.group,
        score: turned(board, decimalNumber(score)),
        ...(board.ties === 'first' && { reached: scoreTime(state, board.no, runDay) }),
        ...(board.secondaryAttributeId !== null && { secondary: scoreSecondary(state, board.no, runDay) }),
      };
  return null;
}

/**
 * The share of the users with a score who are not ranked before the user, in percent. Rounded down to one decimal, so that
 * only the first have 100.
 */
export function percentileOf(rank: number, participants: number): number {
  // While events are in flight, the two may be from different moments.
  const all = Math.max(participants, rank);
  return Math.floor((1_000 * (all - rank + 1)) / all) / 10;
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
    const asked = member.rank === undefined && last === undefined && place > 0;
    const placed = last?.score === member.score ? last.rank : place + 1;
    const rank = member.rank ?? (asked ? await standings.rankOf(member) : placed);
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
    if (found?.isOn !== true) return { from, members: [] };
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

/** The users' names, in order; `null` for a user without a name or a state. */
export async function userNames(
  redis: Redis,
  tenantNo: number,
  users: readonly { userId: string }[],
): Promise<(string | null)[]> {
  const names: (string | null)[] = [];
  const ids = users.map(({ userId }) => userId);
  for await (const { packed } of statesInSlices(redis, tenantNo, ids))
    names.push(packed === null ? null : nameInState(packed));
  return names;
}
