import type { Member, Standings } from './standings.ts';

export interface RankedMember extends Member {
  rank: number;
}

/** Members are read in chunks, so that no one command keeps Redis from its events. */
const CHUNK = 1000;

/** Members in their order with their ranks, the first of which is known from `before` or its place, or asked for. */
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
 * A page of a board, best first, and the place (from 0) where it begins. With `userId` the offset counts from that user's
 * place and may be negative; one that would begin above the first place begins with it. A user who is not on the board: no
 * members. Several reads, with those of the ranks, that an event may fall between: they may then differ by that event.
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
