import type { AchievementCompletionResponse, EventResponse } from '../../src/domain/event.ts';

/** What either side says: the same, if all is well. */
export interface Said {
  engine: unknown;
  model: unknown;
}

/** Null for a refusal with this status; throws whatever else went wrong. */
export function refused(error: Error & { status?: number }, status: number): null {
  if (error.status !== status) throw error;
  return null;
}

const seenPoints = (points: EventResponse['points']) =>
  Object.fromEntries(
    Object.entries(points).map(([key, { total, added, awards, level }]) => [
      key,
      {
        total,
        added,
        awards: awards.map(({ trigger, awarded, total: after, boosts = [] }) => [
          trigger!.id,
          awarded,
          after,
          boosts.map(({ id }) => id).toSorted(),
        ]),
        ...(level !== undefined && { level: level?.key ?? null }),
      },
    ]),
  );

type BoardChange = EventResponse['leaderboards'][string];
const seenBoard = ({ start, end, rank, previousRank, threshold, breakdownAttributeValues = [] }: BoardChange) => ({
  start,
  end,
  rank,
  previousRank,
  threshold,
  group: Object.fromEntries(breakdownAttributeValues.map(({ key, value }) => [key, value])),
});

/** What of an event's answer the model says, too. */
export function seenEvent(answer: EventResponse & { status: number }) {
  const { status, total, achievements, currentStreak, points, leaderboards } = answer;
  return {
    status,
    total,
    achievements: achievements.map(({ id }) => id).toSorted(),
    currentStreak,
    points: seenPoints(points),
    leaderboards: Object.fromEntries(Object.entries(leaderboards).map(([key, board]) => [key, seenBoard(board)])),
  };
}

/** What of the answer to a completion the model says, too. */
export const seenCompletion = ({ achievement, points }: AchievementCompletionResponse) => ({
  achievedAt: Date.parse(achievement.achievedAt!),
  points: seenPoints(points),
});
