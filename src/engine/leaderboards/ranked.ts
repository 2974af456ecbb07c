import type { Member, Standings } from './standings.ts';

export interface RankedMember extends Member {
  rank: number;
}

/** Members are read in chunks, so that no one command keeps Redis from its events. */
const CHUNK = 1000;

/** Members in their order with their ranks, the first of which is known from `before`, or asked for. */
export async function ranked(
  standings: Standings,
  members: readonly Member[],
  { from, before }: { from: number; before: { rank: number; score: number } | undefined },
): Promise<RankedMember[]> {
  const result: RankedMember[] = [];
  let last = before;
  for (const [index, member] of members.entries()) {
    const rank =
      last === undefined ? await standings.rankOf(member) : last.score === member.score ? last.rank : from + index + 1;
    last = { ...member, rank };
    result.push({ ...member, rank });
  }
  return result;
}

/**
 * A page of a board, best first. With `userId` the offset counts from that user's place and may be negative; one
 * that would begin above the first place begins with it. A user who is not on the board: no members. Several reads
 * that an event may fall between: a page and its ranks may then differ by that event.
 */
export async function rankedPage(
  standings: Standings,
  { offset, limit, userId }: { offset: number; limit: number; userId?: string | undefined },
): Promise<RankedMember[]> {
  let from = offset;
  if (userId !== undefined) {
    const found = await standings.find(userId);
    if (found === null) return [];
    from = Math.max(found.place + offset, 0);
  }
  const end = Math.min(from + limit, await standings.participants());
  const members: RankedMember[] = [];
  while (from < end) {
    const chunk = await standings.page(from, Math.min(CHUNK, end - from));
    if (chunk.length === 0) break;
    members.push(...(await ranked(standings, chunk, { from, before: members.at(-1) })));
    from += chunk.length;
  }
  return members;
}
