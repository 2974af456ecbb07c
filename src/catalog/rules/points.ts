import type { Catalog, PointsBoost, PointsLevel, PointsSystem, PointsTrigger } from '../../domain/catalog.ts';
import { isDate } from '../../domain/periods.ts';
import { LONGEST_STREAK } from './achievement.ts';
import { keysIn, levelsIn } from './lookups.ts';
import { badge, belongs, conditions, MOST, named, ownKey, problem, refers, whole, type Problem } from './problem.ts';

const MOST_INTERVALS = 100_000;
const USER_ID_LENGTH = 255;

/** The rules of a points system. Its parts have their own rules. */
export function* systemProblems(system: PointsSystem, catalog: Catalog): Generator<Problem> {
  yield* named(system.name);
  yield* badge(system.badgeUrl);
  const keys = keysIn(catalog.pointsSystems);
  yield* ownKey(system, { holders: (key) => keys.get(key), noun: 'points system' });
  if (system.maxPoints !== null) yield* whole('maxPoints', system.maxPoints, { min: 1, max: MOST });
}

export function* levelProblems(level: PointsLevel, catalog: Catalog): Generator<Problem> {
  const { systemId } = level;
  const siblings = levelsIn(catalog.levels);
  yield* named(level.name);
  yield* badge(level.badgeUrl);
  yield* ownKey(level, { holders: (key) => siblings.keys.get(`${systemId}:${key}`), noun: 'level' });
  yield* whole('points', level.points, { min: 0, max: MOST });
  if ((siblings.points.get(`${systemId}:${level.points}`) ?? 0) > 1) {
    yield problem('points', `another level begins at ${level.points} points`);
  }
}

export function* triggerProblems(trigger: PointsTrigger, catalog: Catalog): Generator<Problem> {
  const only = (type: PointsTrigger['type']): { to: string; when: boolean } => ({
    to: `type '${type}'`,
    when: trigger.type === type,
  });
  yield* whole('points', trigger.points, { min: -MOST, max: MOST });
  yield* belongs('metricId', trigger.metricId, only('metric'));
  yield* refers('metricId', trigger.metricId, { among: catalog.metrics, noun: 'metric' });
  yield* belongs('metricThreshold', trigger.metricThreshold, only('metric'));
  if (trigger.metricThreshold !== null) yield* whole('metricThreshold', trigger.metricThreshold, { min: 1, max: MOST });
  yield* belongs('achievementId', trigger.achievementId, only('achievement'));
  yield* refers('achievementId', trigger.achievementId, { among: catalog.achievements, noun: 'achievement' });
  yield* belongs('streakLength', trigger.streakLength, only('streak'));
  if (trigger.streakLength !== null)
    yield* whole('streakLength', trigger.streakLength, { min: 1, max: LONGEST_STREAK });
  yield* belongs('timeUnit', trigger.timeUnit, only('time'));
  yield* belongs('timeInterval', trigger.timeInterval, only('time'));
  if (trigger.timeInterval !== null)
    yield* whole('timeInterval', trigger.timeInterval, { min: 1, max: MOST_INTERVALS });
  yield* conditions('userAttributes', trigger.userAttributes, catalog);
  if (trigger.eventAttributes.length > 0) yield* belongs('eventAttributes', trigger.eventAttributes, only('metric'));
  yield* conditions('eventAttributes', trigger.eventAttributes, catalog);
}

export function* boostProblems(boost: PointsBoost, catalog: Catalog): Generator<Problem> {
  const { name, userId, start, end, multiplier } = boost;
  yield* named(name);
  if (userId !== null && (userId === '' || userId.length > USER_ID_LENGTH)) {
    yield problem('userId', `must have 1 to ${USER_ID_LENGTH} characters`);
  }
  if (!isDate(start)) yield problem('start', 'must be a date (YYYY-MM-DD)');
  if (end !== null && !isDate(end)) yield problem('end', 'must be a date (YYYY-MM-DD)');
  else if (end !== null && end < start) yield problem('end', 'must not be before start');
  if (!(multiplier > 0 && multiplier < 100)) yield problem('multiplier', 'must be greater than 0 and less than 100');
  yield* conditions('userAttributes', boost.userAttributes, catalog);
}
