import { isDeepStrictEqual } from 'node:util';
import type { Leaderboard } from '../domain/catalog.ts';

/** What decides the scores of a board: they are worth nothing once one of these is another. */
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

/** Whether scores on one of two boards say nothing about the other. */
export const scoresDiffer = (
  one: Pick<Leaderboard, (typeof SCORING)[number]>,
  other: Pick<Leaderboard, (typeof SCORING)[number]>,
): boolean => SCORING.some((name) => !isDeepStrictEqual(one[name], other[name]));
