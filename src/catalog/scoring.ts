import { isDeepStrictEqual } from 'node:util';
import type { Leaderboard } from '../domain/catalog.ts';

/** Fields that determine a leaderboard's scores. Changing one makes the scores meaningless. */
export const SCORING = [
  'rankBy',
  'metricId',
  'pointsSystemId',
  'start',
  'startTime',
  'endTime',
  'breakdownAttributes',
  'runUnit',
  'runInterval',
] as const satisfies (keyof Leaderboard)[];

/** Whether the scores of two leaderboards cannot be compared. */
export const scoresDiffer = (
  one: Pick<Leaderboard, (typeof SCORING)[number]>,
  other: Pick<Leaderboard, (typeof SCORING)[number]>,
): boolean => SCORING.some((name) => !isDeepStrictEqual(one[name], other[name]));
