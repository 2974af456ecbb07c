import type { Catalog, PointsBoost, PointsLevel, PointsSystem, PointsTrigger } from '../../domain/catalog.ts';
import { isDate } from '../../domain/periods.ts';
import { LONGEST_STREAK } from './achievement.ts';
import { keysIn, levelsIn } from './lookups.ts';
import { MOST, ownKey, problem, whole, type Problem } from './problem.ts';

const MOST_INTERVALS = 100_000;
const USER_ID_LENGTH = 255;

/** The rules of a points system. Its parts have their own rules. */
export function* systemProblems(system: PointsSystem, catalog: Catalog): Generator<Problem> {
  const keys = keysIn(catalog.pointsSystems);
  yield* ownKey(system, { holders: (key) => keys.get(key), noun: 'points system' });
  if (system.maxPoints !== null) yield* whole('maxPoints', system.maxPoints, { min: 1, max: MOST });
}

export function* levelProblems(level: PointsLevel, catalog: Catalog): Generator<Problem> {
  const { systemId } = level;
  const siblings = levelsIn(catalog.levels);
  yield* ownKey(level, { holders: (key) => siblings.keys.get(`${systemId}:${key}`), noun: 'level' });
  yield* whole('points', level.points, { min: 0, max: MOST });
  if ((siblings.points.get(`${systemId}:${level.points}`) ?? 0) > 1) {
    yield problem('points', `another level begins at ${level.points} points`);
  }
}

export function* triggerProblems(trigger: PointsTrigger): Generator<Problem> {
  const { points, metricThreshold, streakLength, timeInterval } = trigger;
  yield* whole('points', points, { min: -MOST, max: MOST });
  if (metricThreshold !== null) yield* whole('metricThreshold', metricThreshold, { min: 1, max: MOST });
  if (streakLength !== null) yield* whole('streakLength', streakLength, { min: 1, max: LONGEST_STREAK });
  if (timeInterval !== null) yield* whole('timeInterval', timeInterval, { min: 1, max: MOST_INTERVALS });
}

export function* boostProblems(boost: PointsBoost): Generator<Problem> {
  const { userId, start, end, multiplier } = boost;
  if (userId !== null && (userId === '' || userId.length > USER_ID_LENGTH)) {
    yield problem('userId', `must have 1 to ${USER_ID_LENGTH} characters`);
  }
  if (!isDate(start)) yield problem('start', 'must be a date (YYYY-MM-DD)');
  if (end !== null && !isDate(end)) yield problem('end', 'must be a date (YYYY-MM-DD)');
  else if (end !== null && end < start) yield problem('end', 'must not be before start');
  if (!(multiplier > 0 && multiplier < 100)) yield problem('multiplier', 'must be greater than 0 and less than 100');
}
