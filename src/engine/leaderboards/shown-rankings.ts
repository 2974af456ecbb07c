import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { secondaryScore } from '../../domain/secondary-score.ts';
import type { LeaderboardRanking } from '../../domain/leaderboard.ts';
import { nameInState } from '../../packed/state.ts';
import { metadataIn } from '../../rules/metadata.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { statesInSlices } from '../../redis/parts.ts';
import type { Member, RankedMember } from './standings.ts';

interface ShownRun {
  tenantNo: number;
  board: Leaderboard;
  runDay: number;
}

/** Ranked members of a run as answers show them: with the user's name and, on a board that keeps it, the entry's metadata. */
export async function shownRankings(
  redis: Redis,
  { tenantNo, board, runDay }: ShownRun,
  members: readonly RankedMember[],
): Promise<LeaderboardRanking[]> {
  const rankings: LeaderboardRanking[] = [];
  const ids = members.map(({ userId }) => userId);
  for await (const { packed } of statesInSlices(redis, tenantNo, ids)) {
    const { userId, rank, score, secondary, metadata: final } = members[rankings.length]!;
    const ranking = {
      userId,
      userName: packed === null ? null : nameInState(packed),
      rank,
      value: score,
      ...shownSecondary(board, secondary),
    };
    const live =
      packed === null || board.keepsMetadata !== true
        ? null
        : metadataIn(decodeUser(packed), { board: board.no, runDay });
    const json = board.keepsMetadata === true && final !== undefined ? final : live;
    rankings.push(json === null ? ranking : { ...ranking, metadata: JSON.parse(json) as Record<string, unknown> });
  }
  return rankings;
}

/** The secondary score of a rank number, as a field; nothing without one. */
export function shownSecondary(
  { secondaryAttributeId, secondaryOrder }: Leaderboard,
  rank: number | null | undefined,
): { secondaryScore?: number } {
  const shown = secondaryAttributeId === null ? null : secondaryScore(rank ?? 0, secondaryOrder ?? 'ascending');
  return shown === null ? {} : { secondaryScore: shown };
}

/** Adds the metadata of the entries of a run to members, from the users' states. */
export async function withMetadata<T extends Member>(
  redis: Redis,
  { tenantNo, board, runDay }: ShownRun,
  members: readonly T[],
): Promise<T[]> {
  if (board.keepsMetadata !== true) return [...members];
  const all: T[] = [];
  const ids = members.map(({ userId }) => userId);
  for await (const { packed } of statesInSlices(redis, tenantNo, ids)) {
    const metadata = packed === null ? null : metadataIn(decodeUser(packed), { board: board.no, runDay });
    all.push({ ...members[all.length]!, metadata });
  }
  return all;
}
