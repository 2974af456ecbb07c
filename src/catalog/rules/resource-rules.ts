import {
  type Achievement,
  type Catalog,
  type Leaderboard,
  neededBy,
  type PointsBoost,
  type PointsLevel,
  type PointsSystem,
  type PointsTrigger,
  type Reward,
} from '../../domain/catalog.ts';
import { MOST_REQUIRED } from '../../domain/fields/achievement.ts';
import type { RankBand } from '../../domain/fields/rank.ts';
import type { StreakSettings } from '../../domain/fields/tenant-settings.ts';
import { floorOf, foldOf } from '../../domain/leaderboard.ts';
import { COHORT_USERS, type Leagues, MOST_TIERS } from '../../domain/leagues.ts';
import { isDate } from '../../domain/periods.ts';
import { LONGEST_REPEAT_DAYS } from '../../domain/repeat.ts';
import { PARTICIPANTS } from '../../domain/schemas.ts';
import { amount, badge, MOST, ownKey, problem, type Problem, refers, whole } from './problem.ts';
import { byId } from '../lookups.ts';
import { endlessIn, keysIn, levelsIn } from './references.ts';

type RankRule = RankBand & { leaderboardId: string | null };

const LONGEST_STREAK = 1_000_000;

const MOST_YEARS = 1_000;

/** Largest stock, and largest limit per user. */
const MOST_CLAIMS = 1e9;

export function* achievementProblems(achievement: Achievement, catalog: Catalog): Generator<Problem> {
  const { metricValue, streakLength, anniversaryYears, repeat } = achievement;
  const keys = keysIn(catalog.achievements);
  yield* ownKey(achievement, { holders: (of) => keys.get(of), noun: 'achievement' });
  if (metricValue !== null) yield* amount('metricValue', metricValue);
  if (streakLength !== null) yield* whole('streakLength', streakLength, { min: 1, max: LONGEST_STREAK });
  if (anniversaryYears !== null) yield* whole('anniversaryYears', anniversaryYears, { min: 1, max: MOST_YEARS });
  if (repeat !== null && typeof repeat === 'object')
    yield* whole('repeat.days', repeat.days, { min: 1, max: LONGEST_REPEAT_DAYS });
  yield* seasonProblems(achievement);
  yield* rankProblems(achievement);
  yield* partProblems('achievementIds', achievement, catalog);
  yield* partProblems('requires', achievement, catalog);
  if (achievement.requires.length > MOST_REQUIRED) yield problem('requires', `at most ${MOST_REQUIRED} achievements`);
  yield* cycleProblems(achievement, catalog);
}

/** Largest rank that a rule may name. */
const MOST_RANKS = 1e9;

function* rankProblems({ leaderboardId, rankFrom, rankTo, rankPercent }: RankRule): Generator<Problem> {
  if (rankFrom !== null) yield* whole('rankFrom', rankFrom, { min: 1, max: MOST_RANKS });
  if (rankTo !== null) yield* whole('rankTo', rankTo, { min: 1, max: MOST_RANKS });
  if (rankTo !== null && rankTo < (rankFrom ?? 1)) yield problem('rankTo', 'must not be below rankFrom');
  if (rankPercent !== null && !(rankPercent > 0 && rankPercent <= 100))
    yield problem('rankPercent', 'must be greater than 0 and at most 100');
  if (leaderboardId === null) return;
  if (rankTo === null && rankPercent === null) yield problem('rankTo', 'required, unless there is a rankPercent');
  if (rankTo !== null && rankPercent !== null) yield problem('rankPercent', 'only for rewards without a rankTo');
}

function* seasonProblems({ startDate, endDate }: Achievement): Generator<Problem> {
  if (startDate !== null && !isDate(startDate)) yield problem('startDate', 'must be a date (YYYY-MM-DD)');
  if (endDate !== null && !isDate(endDate)) yield problem('endDate', 'must be a date (YYYY-MM-DD)');
  else if (startDate !== null && endDate !== null && endDate < startDate)
    yield problem('endDate', 'must not be before startDate');
}

function* partProblems(
  name: 'achievementIds' | 'requires',
  achievement: Achievement,
  catalog: Catalog,
): Generator<Problem> {
  const earlier = new Set<string>();
  for (const [index, part] of achievement[name].entries()) {
    const field = `${name}[${index}]`;
    yield* refers(field, part, { among: catalog.achievements, noun: 'achievement' });
    if (earlier.has(part)) yield problem(field, 'named twice');
    earlier.add(part);
  }
}

function* cycleProblems({ id, requires }: Achievement, catalog: Catalog): Generator<Problem> {
  const circle = circleThrough(id, catalog);
  if (circle === null) return;
  const achievements = byId(catalog.achievements);
  const names = circle.map((of) => achievements.get(of)?.key ?? achievements.get(of)?.name ?? of);
  yield problem(requires.includes(circle[1]!) ? 'requires' : 'achievementIds', `form a cycle: ${wayOf(names)}`);
}

const MOST_NAMED = 20;

const wayOf = (names: string[]): string =>
  (names.length <= MOST_NAMED ? names : [...names.slice(0, MOST_NAMED - 1), '…', names.at(-1)]).join(' → ');

/** IDs of achievements of which each needs the next, from one to itself; `null` if there is no such circle. */
function circleThrough(id: string, catalog: Catalog): string[] | null {
  if (!endlessIn(catalog.achievements).has(id)) return null;
  const achievements = byId(catalog.achievements);
  const cameFrom = new Map<string, string>();
  for (const open = [id]; open.length > 0;) {
    const at = open.shift()!;
    for (const part of neededBy(achievements.get(at))) {
      if (part === id) {
        const way = [id];
        for (let step = at; step !== id; step = cameFrom.get(step)!) way.unshift(step);
        return [id, ...way];
      }
      if (!cameFrom.has(part)) {
        cameFrom.set(part, at);
        open.push(part);
      }
    }
  }
  return null;
}

function* leagueProblems({ tiers, cohortUsers, promoted, demoted }: Leagues): Generator<Problem> {
  if (tiers.length < 2 || tiers.length > MOST_TIERS)
    yield problem('leagues.tiers', `must have 2 to ${MOST_TIERS} items, the lowest tier first`);
  const names = new Set<string>();
  for (const [index, { name, badge: shown }] of tiers.entries()) {
    const field = `leagues.tiers[${index}]`;
    if (name.trim() === '') yield problem(`${field}.name`, 'must not be empty');
    else if (names.has(name)) yield problem(`${field}.name`, `'${name}' is named twice`);
    names.add(name);
    yield* badge(`${field}.badge.url`, shown?.url ?? null);
  }
  yield* whole('leagues.cohortUsers', cohortUsers, { min: COHORT_USERS.least, max: COHORT_USERS.most });
  yield* whole('leagues.promoted', promoted, { min: 0, max: cohortUsers });
  yield* whole('leagues.demoted', demoted, { min: 0, max: cohortUsers });
  if (promoted + demoted > cohortUsers)
    yield problem('leagues.demoted', 'promoted and demoted must not be more than cohortUsers together');
}

const LONGEST_RUN = 10_000;
/** All their values are part of a group's name, and so of Redis keys. */
const MOST_BREAKDOWN = 10;

export function* leaderboardProblems(board: Leaderboard, catalog: Catalog): Generator<Problem> {
  const keys = keysIn(catalog.leaderboards);
  yield* ownKey(board, { holders: (key) => keys.get(key), noun: 'leaderboard' });
  if (board.maxParticipants !== null) {
    yield* whole('maxParticipants', board.maxParticipants, { min: 1, max: PARTICIPANTS.most });
  }
  yield* windowProblems(board);
  yield* runProblems(board);
  if (board.leagues !== null) yield* leagueProblems(board.leagues);
  if (board.breakdownAttributes.length > MOST_BREAKDOWN)
    yield problem('breakdownAttributes', `must have at most ${MOST_BREAKDOWN} items`);
  const known = byId(catalog.attributes);
  const earlier = new Set<string>();
  for (const [index, id] of board.breakdownAttributes.entries()) {
    const field = `breakdownAttributes[${index}]`;
    const attribute = known.get(id);
    if (attribute === undefined) yield problem(field, `unknown user attribute '${id}'`);
    else if (attribute.type !== 'user') yield problem(field, `'${attribute.key}' is an event attribute`);
    else if (earlier.has(id)) yield problem(field, `'${attribute.key}' is named twice`);
    earlier.add(id);
  }
  if (board.secondaryAttributeId !== null) {
    const attribute = known.get(board.secondaryAttributeId);
    if (attribute === undefined)
      yield problem('secondaryAttributeId', `unknown event attribute '${board.secondaryAttributeId}'`);
    else if (attribute.type !== 'event')
      yield problem('secondaryAttributeId', `'${attribute.key}' is a user attribute`);
    if (foldOf(board) === null)
      yield problem(
        'secondaryAttributeId',
        "only with an aggregate of 'max', 'min' or 'last', whose score is one event's",
      );
  }
  if (board.teamAttributeId !== null) {
    const attribute = known.get(board.teamAttributeId);
    if (attribute === undefined) yield problem('teamAttributeId', `unknown user attribute '${board.teamAttributeId}'`);
    else if (attribute.type !== 'user') yield problem('teamAttributeId', `'${attribute.key}' is an event attribute`);
    if (board.breakdownAttributes.length > 0)
      yield problem('teamAttributeId', 'not for a board with breakdownAttributes: teams compete across groups');
    if (floorOf(board) !== 0) yield problem('teamAttributeId', 'only for a board of the highest sum with shared ties');
  }
}

function* windowProblems({ start, end, startTime, endTime }: Leaderboard): Generator<Problem> {
  if (!isDate(start)) yield problem('start', 'must be a date (YYYY-MM-DD)');
  if (end !== null && !isDate(end)) yield problem('end', 'must be a date (YYYY-MM-DD)');
  else if (end !== null && end < start) yield problem('end', 'must not be before start');
  if (startTime !== null && endTime !== null && withSeconds(startTime) === withSeconds(endTime))
    yield problem('endTime', 'must differ from startTime');
}

const withSeconds = (timeOfDay: string): string => (timeOfDay.length === 5 ? `${timeOfDay}:00` : timeOfDay);

function* runProblems({ rankBy, runUnit, runInterval }: Leaderboard): Generator<Problem> {
  if (runUnit !== null && rankBy === 'streak')
    yield problem('runUnit', `not for rankBy 'streak': such a board is perpetual`);
  // Weeks are stored as days.
  if (runUnit === 'day' && runInterval !== null && runInterval > LONGEST_RUN)
    yield problem('runInterval', `must be at most ${LONGEST_RUN} days, which are ${Math.floor(LONGEST_RUN / 7)} weeks`);
  else if (runInterval !== null) yield* whole('runInterval', runInterval, { min: 1, max: LONGEST_RUN });
}

const MOST_INTERVALS = 100_000;
const USER_ID_LENGTH = 255;

export function* systemProblems(system: PointsSystem, catalog: Catalog): Generator<Problem> {
  const keys = keysIn(catalog.pointsSystems);
  yield* ownKey(system, { holders: (key) => keys.get(key), noun: 'points system' });
  if (system.maxPoints !== null) yield* whole('maxPoints', system.maxPoints, { min: 1, max: MOST });
}

export function* rewardProblems(reward: Reward, catalog: Catalog): Generator<Problem> {
  const keys = keysIn(catalog.rewards);
  yield* ownKey(reward, { holders: (key) => keys.get(key), noun: 'reward' });
  // The document's schema does not require references.
  if (reward.pointsSystemId === null) yield problem('pointsSystemId', 'required');
  yield* whole('price', reward.price, { min: 1, max: MOST });
  if (reward.stock !== null) yield* whole('stock', reward.stock, { min: 0, max: MOST_CLAIMS });
  if (reward.limitPerUser !== null) yield* whole('limitPerUser', reward.limitPerUser, { min: 1, max: MOST_CLAIMS });
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

export function* triggerProblems(trigger: PointsTrigger, catalog: Catalog): Generator<Problem> {
  const { type, achievementId, pointsSystemId, levelKey, leaderboardId } = trigger;
  const { points, metricThreshold, streakLength, timeInterval } = trigger;
  if (type === 'achievement' && achievementId === null && pointsSystemId === null && leaderboardId === null)
    yield problem('achievementId', `required for type 'achievement'`);
  if (achievementId !== null && pointsSystemId !== null)
    yield problem('pointsSystemId', 'only for triggers without an achievement');
  if (leaderboardId !== null && (achievementId !== null || pointsSystemId !== null))
    yield problem('leaderboardId', 'only for triggers without an achievement and without levels');
  yield* rankProblems(trigger);
  if (
    pointsSystemId !== null &&
    levelKey !== null &&
    !levelsIn(catalog.levels).keys.has(`${pointsSystemId}:${levelKey}`)
  )
    yield problem('levelKey', `the points system has no level '${levelKey}'`);
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

const MOST_FREEZES = 100;
/** Same limit as for a user's own rule. Each event keeps one sum per metric. */
const MOST_METRICS = 100;
const LONGEST_INTERVAL_DAYS = 3_650;

export function* streakProblems(settings: StreakSettings, catalog: Catalog): Generator<Problem> {
  const { frequency, daysOff, metrics, freezes } = settings;
  if (daysOff.length > 0 && frequency !== 'daily') yield problem('daysOff', `only for frequency 'daily'`);
  if (metrics.length > MOST_METRICS) yield problem('metrics', `must have at most ${MOST_METRICS} items`);
  const earlier = new Set<string>();
  for (const [index, { metricId, threshold }] of metrics.entries()) {
    yield* refers(`metrics[${index}].metricId`, metricId, { among: catalog.metrics, noun: 'metric' });
    if (earlier.has(metricId)) yield problem(`metrics[${index}].metricId`, 'named twice');
    earlier.add(metricId);
    yield* amount(`metrics[${index}].threshold`, threshold);
  }
  const { initial, max, autoEarnInterval, autoEarnAmount } = freezes;
  yield* whole('freezes.initial', initial, { min: 0, max: MOST_FREEZES });
  yield* whole('freezes.max', max, { min: 0, max: MOST_FREEZES });
  if (initial > max) yield problem('freezes.initial', 'must not be above freezes.max');
  if (autoEarnInterval !== null) {
    yield* whole('freezes.autoEarnInterval', autoEarnInterval, { min: 1, max: LONGEST_INTERVAL_DAYS });
  }
  if (autoEarnAmount !== null) yield* whole('freezes.autoEarnAmount', autoEarnAmount, { min: 1, max: MOST_FREEZES });
  if ((autoEarnInterval === null) !== (autoEarnAmount === null)) {
    const missing = autoEarnInterval === null ? 'autoEarnInterval' : 'autoEarnAmount';
    yield problem(`freezes.${missing}`, 'autoEarnInterval and autoEarnAmount go together');
  }
}
