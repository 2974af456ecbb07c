import type { Member, Standings } from './standings.ts';

export interface RankedMember extends Member {
  rank: number;
}

/** Members are read in chunks, so that no one command keeps Redis from its events. */
const CHUNK = 1000;

/**
 * How many members, from the first place on, are on a board of at most `max` participants: those with a rank up to
 * it, so that those who share the last place are all on it. Null: no maximum.
 */
async function participants(standings: Standings, max: number | null): Promise<number> {
  if (max === null) return Infinity;
  const [last] = await standings.page(max - 1, 1);
  return last === undefined ? max : standings.atLeast(last.score);
}

/** A user's rank and score; null where the user is not on the board. Equal scores share a rank: 1, 2, 2, 4. */
export async function rankOf(
  standings: Standings,
  userId: string,
  max: number | null,
): Promise<{ rank: number; score: number; place: number } | null> {
  const found = await standings.find(userId);
  if (found === null) return null;
  const rank = 1 + (await standings.above(found.score));
  return max !== null && rank > max ? null : { rank, ...found };
}

/**
 * A page of a board, best first. With `userId` the offset counts from that user's place and may be negative; one
 * that would begin above the first place begins with it. A user who is not on the board: no members. Several reads
 * that an event may fall between: a page and its ranks may then differ by that event.
 */
export async function rankedPage(
  standings: Standings,
  { offset, limit, userId, max }: { offset: number; limit: number; userId: string | undefined; max: number | null },
): Promise<RankedMember[]> {
  let from = offset;
  if (userId !== undefined) {
    const found = await rankOf(standings, userId, max);
    if (found === null) return [];
    from = Math.max(found.place + offset, 0);
  }
  const end = Math.min(from + limit, await participants(standings, max));
  const members: RankedMember[] = [];
  while (from < end) {
    const chunk = await standings.page(from, Math.min(CHUNK, end - from));
    for (const member of chunk) {
      const before = members.at(-1);
      const rank =
        before === undefined
          ? 1 + (await standings.above(member.score))
          : before.score === member.score
            ? before.rank
            : from + 1;
      members.push({ ...member, rank });
      from += 1;
    }
    if (chunk.length === 0) break;
  }
  return members;
}
