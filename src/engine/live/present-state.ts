import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { decodeState } from '../../packed/state.ts';
import { userKey } from '../../redis/keys.ts';
import { userAchievementResponse } from '../responses/achievement-response.ts';
import { levelResponse, pointsResponse } from '../responses/points-response.ts';
import { baseStreak, settledNow } from '../responses/streak-response.ts';
import { leaderboardResponse } from '../responses/leaderboard-response.ts';
import type { BoardSources } from './board-report.ts';
import type { LiveListener } from './live-listener.ts';

/**
 * What a client that missed something needs to go on: the streak, points, completed achievements of the stream's user, and
 * the places that it holds. Null for streams of more than one user, and for a user never seen. Errors of Redis.
 */
export async function presentState(
  { redis, compiled, nowMs }: BoardSources,
  listener: LiveListener,
): Promise<object | null> {
  const { userId, kind, tenantNo } = listener.grant;
  if (kind === 'admin' || userId === null) return null;
  const packed = await redis.getBuffer(userKey(tenantNo, userId));
  if (packed === null) return null;
  const state = decodeState(packed);
  const { day, streaks, freezes, offDays } = settledNow(compiled, state, nowMs);
  const streak = streaks[compiled.catalog.streaks.frequency];
  return {
    userId,
    streak: baseStreak(compiled, { streak, freezesLeft: freezes, day, offDays }),
    points: compiled.catalog.pointsSystems.map((system) => {
      const total = state.points[system.no] ?? 0;
      const level = compiled.levelOf(system.id, total);
      return { ...pointsResponse(system), total, level: level === null ? null : levelResponse(level) };
    }),
    achievements: compiled.catalog.achievements
      .filter(({ no, status }) => status !== 'inactive' && state.completions[no] !== undefined)
      .map((achievement) => userAchievementResponse(compiled, achievement, state)),
    leaderboards: heldPlaces(compiled, listener),
  };
}

const heldPlaces = (compiled: CompiledCatalog, { places }: LiveListener): object[] =>
  [...places].flatMap(([no, { rank, value }]) => {
    const board = compiled.leaderboardsByNo.get(no);
    return board === undefined ? [] : [{ ...leaderboardResponse(compiled, board), rank, value }];
  });
