import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { decimalNumber } from '../../domain/decimal.ts';
import { floorOf, turned } from '../../domain/leaderboard.ts';
import { nameInState } from '../../packed/state.ts';
import { hasPlace } from '../../rules/hiding.ts';
import { scoreIn, timeIn } from '../../rules/leaderboards.ts';
import type { User } from '../../rules/user.ts';
import { statesInSlices } from '../../redis/parts.ts';

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
export interface Standing {
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
  find(userId: string): Promise<Standing | null>;
  /** The number of users with a score, on the board or not. */
  scored(): Promise<number>;
  /** The number of users on the board. */
  participants(): Promise<number>;
  /** The same, at most `places`. Cheaper, but may exceed the number of members. */
  participantsOf(places: number): Promise<number>;
}

/** The fields of a board that its standings depend on. */
export type RankedBoard = Pick<
  Leaderboard,
  'aggregate' | 'order' | 'ties' | 'secondaryAttributeId' | 'maxParticipants'
>;

/** Compares texts by the bytes of their UTF-8, without encoding them: only units beyond the surrogates sort otherwise. */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [unitOfA, unitOfB] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (unitOfA !== unitOfB) return inBytes(unitOfA) - inBytes(unitOfB);
  }
  return a.length - b.length;
}

/** Negative if a member has a better place than another. */
export const comparePlaces = (board: Pick<Leaderboard, 'order'>, a: Member, b: Member): number =>
  turned(board, b.score - a.score) ||
  (b.secondary ?? 0) - (a.secondary ?? 0) ||
  (a.reached ?? 0) - (b.reached ?? 0) ||
  compareBytes(b.userId, a.userId);

/** A UTF-16 unit, moved to where its character's UTF-8 sorts: surrogates after all others. */
const inBytes = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/** A user's value in a run of a board, and its group, as in the sorted sets; `null` for a user who is not ranked. */
export function rankedScore(
  user: User,
  board: Leaderboard,
  runDay: number,
): { group: string; score: number; reached?: number; secondary?: number } | null {
  const run = { board: board.no, runDay };
  const score = scoreIn(user, run);
  const placed = { grouped: board.breakdownAttributes.length > 0, floor: floorOf(board) };
  if (user.hidden !== 0 || score === undefined || !hasPlace(score, placed)) return null;
  const { reached = 0, secondary = 0 } = timeIn(user, run) ?? {};
  return {
    group: score.group,
    score: turned(board, decimalNumber(score)),
    ...(board.ties === 'first' && { reached: Math.abs(reached) }),
    ...(board.secondaryAttributeId !== null && { secondary }),
  };
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
    const isUnknown = member.rank === undefined && last === undefined && place > 0;
    const placed = last?.score === member.score ? last.rank : place + 1;
    const rank = member.rank ?? (isUnknown ? await standings.rankOf(member) : placed);
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
    const standing = await standings.find(userId);
    if (standing?.isOn !== true) return { from, members: [] };
    from = Math.max(standing.place + offset, 0);
  }
  const count = (await standings.participantsOf(from + limit)) - from;
  const members: Member[] = [];
  while (members.length < count) {
    const size = Math.min(CHUNK, count - members.length);
    const chunk = await standings.page(from + members.length, size);
    members.push(...chunk);
    if (chunk.length < size) break;
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
