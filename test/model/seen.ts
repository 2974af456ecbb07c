import type { AchievementCompletionResponse, EventResponse } from '../../src/domain/event.ts';

/** The answers of both sides, which should be equal. */
export interface Said {
  engine: unknown;
  model: unknown;
}

/** Null for a refusal with this status; throws any other error. */
export function refused(error: Error & { status?: number }, ...statuses: number[]): null {
  if (!statuses.includes(error.status ?? 0)) throw error;
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
const seenBoard = ({
  start,
  end,
  rank,
  previousRank,
  threshold,
  full,
  breakdownAttributeValues = [],
}: BoardChange) => ({
  start,
  end,
  rank,
  previousRank,
  threshold,
  ...(full !== undefined && { full }),
  group: Object.fromEntries(breakdownAttributeValues.map(({ key, value }) => [key, value])),
});

/** The part of an event's answer that the model also has. */
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

/** The part of a completion's answer that the model also has. */
export const seenCompletion = ({ achievement, points }: AchievementCompletionResponse) => ({
  achievedAt: Date.parse(achievement.achievedAt!),
  points: seenPoints(points),
});
