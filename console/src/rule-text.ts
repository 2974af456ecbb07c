import { calendarDays, counted, number } from './ui/format.ts';

/**
 * Rules as sentences. Every screen that shows what completes an achievement, awards points, boosts them or ranks users takes its
 * words from here, so that a rule reads the same everywhere and no condition is left out.
 */

interface Condition {
  /** The attribute's name or key. */
  key: string;
  value: string;
}

/** The rule of an achievement, or of a trigger if it has `points`. The timeline has rules in this form. */
export interface Rule {
  type: 'metric' | 'achievement' | 'streak' | 'time' | 'user_creation' | 'api' | 'anniversary';
  points?: number;
  metric?: { name: string };
  threshold?: number;
  /** Of an achievement that users complete once a period. */
  repeat?: Repeat;
  /** First and last day on which an achievement counts. */
  startDate?: string;
  endDate?: string;
  /** Achievements that the user must have completed before. */
  requires?: readonly { name: string }[];
  streakLength?: number;
  achievements?: readonly { name: string }[];
  timeUnit?: string;
  timeInterval?: number;
  anniversaryYears?: number;
  /** The points system whose levels count, and the only level of it that does. */
  pointsSystem?: { name: string };
  levelKey?: string;
  /** The leaderboard whose final ranks are rewarded, and which. */
  leaderboard?: { name: string };
  rankFrom?: number;
  rankTo?: number;
  rankPercent?: number;
  userAttributes: readonly Condition[];
  eventAttributes: readonly Condition[];
}

/** A period: `daily`, or a number of days. */
export type Repeat = 'daily' | 'weekly' | 'monthly' | { days: number };

type Resources = readonly { id: string; name: string }[] | undefined;

/** The resources that rules refer to by ID. */
export interface Named {
  metrics: Resources;
  achievements: Resources;
  attributes: Resources;
  systems: Resources;
  leaderboards?: Resources;
}

interface Limited {
  userAttributes?: readonly { attributeId: string; attributeValue: string }[] | undefined;
  eventAttributes?: readonly { attributeId: string; attributeValue: string }[] | undefined;
}

/** The fields of an achievement or a trigger in the Admin API that are part of its rule. */
interface StoredRule extends Limited {
  metricId?: string | undefined;
  metricValue?: number | undefined;
  metricThreshold?: number | undefined;
  repeat?: Repeat | undefined;
  startDate?: string | null | undefined;
  endDate?: string | null | undefined;
  streakLength?: number | undefined;
  achievementId?: string | undefined;
  achievementIds?: readonly string[] | undefined;
  requires?: readonly string[] | undefined;
  timeUnit?: string | undefined;
  timeInterval?: number | undefined;
  anniversaryYears?: number | undefined;
  pointsSystemId?: string | undefined;
  levelKey?: string | undefined;
  leaderboardId?: string | null | undefined;
  rankFrom?: number | null | undefined;
  rankTo?: number | null | undefined;
  rankPercent?: number | null | undefined;
}

const LIST = new Intl.ListFormat('en', { type: 'conjunction' });

/** `every day`, `every 7 days`; `unit`: in the singular or the plural. */
export function every(count: number, unit: string): string {
  const one = unit.replace(/s$/, '');
  return count === 1 ? `every ${one}` : `every ${counted(count, one)}`;
}

/** `every 5 Levels completed`, and for 1 `each of Levels completed`, because the name of a metric has no known singular. */
const everyOf = (count: number, name: string): string =>
  count === 1 ? `each of ${name}` : `every ${number(count)} ${name}`;

/** `50 Flashcards flipped`, and for the same reason `1 of Flashcards flipped`. */
const amountOf = (count: number, name: string): string => `${number(count)} ${count === 1 ? 'of ' : ''}${name}`;

const UNITS = { daily: 'day', weekly: 'week', monthly: 'month' } as const;

/** `every day`, `every 3 days`. */
export const repeatText = (repeat: Repeat): string =>
  typeof repeat === 'string' ? every(1, UNITS[repeat]) : every(repeat.days, 'day');

/** ` every day from 1 Dec 2026 to 24 Dec 2026`; '' for an achievement that counts for ever, once. */
const whenText = ({ repeat, startDate, endDate }: Pick<Rule, 'repeat' | 'startDate' | 'endDate'>): string =>
  [
    repeat && repeatText(repeat),
    startDate && `from ${calendarDays(startDate)}`,
    endDate && `to ${calendarDays(endDate)}`,
  ]
    .flatMap((part) => (part ? [` ${part}`] : []))
    .join('');

/** A resource's name; its ID if the resource was not read. */
const nameOf = (resources: Resources, id: string): string => resources?.find((one) => one.id === id)?.name ?? id;

const conditionsOf = (stored: Limited['userAttributes'], { attributes }: Named): Condition[] =>
  (stored ?? []).map(({ attributeId, attributeValue }) => ({
    key: nameOf(attributes, attributeId),
    value: attributeValue,
  }));

function conditionText({ userAttributes, eventAttributes }: Pick<Rule, 'userAttributes' | 'eventAttributes'>): string {
  const all = [
    ...eventAttributes.map(({ key, value }) => `the event’s ${key} is ${value}`),
    ...userAttributes.map(({ key, value }) => `the user’s ${key} is ${value}`),
  ];
  return all.length === 0 ? '' : ` if ${LIST.format(all)}`;
}

function ruleOf(type: Rule['type'], stored: StoredRule, named: Named): Rule {
  const achievementIds = stored.achievementIds ?? (stored.achievementId === undefined ? [] : [stored.achievementId]);
  return {
    type,
    ...(stored.metricId !== undefined && { metric: { name: nameOf(named.metrics, stored.metricId) } }),
    threshold: stored.metricThreshold ?? stored.metricValue ?? 0,
    ...(stored.repeat !== undefined && { repeat: stored.repeat }),
    ...(stored.startDate && { startDate: stored.startDate }),
    ...(stored.endDate && { endDate: stored.endDate }),
    ...(stored.requires && { requires: stored.requires.map((id) => ({ name: nameOf(named.achievements, id) })) }),
    streakLength: stored.streakLength ?? 0,
    achievements: achievementIds.map((id) => ({ name: nameOf(named.achievements, id) })),
    timeUnit: stored.timeUnit ?? '',
    timeInterval: stored.timeInterval ?? 0,
    anniversaryYears: stored.anniversaryYears ?? 0,
    ...(stored.pointsSystemId !== undefined && {
      pointsSystem: { name: nameOf(named.systems, stored.pointsSystemId) },
    }),
    ...(stored.levelKey !== undefined && { levelKey: stored.levelKey }),
    ...(stored.leaderboardId && { leaderboard: { name: nameOf(named.leaderboards, stored.leaderboardId) } }),
    ...(stored.rankFrom && { rankFrom: stored.rankFrom }),
    ...(stored.rankTo && { rankTo: stored.rankTo }),
    ...(stored.rankPercent && { rankPercent: stored.rankPercent }),
    userAttributes: conditionsOf(stored.userAttributes, named),
    eventAttributes: conditionsOf(stored.eventAttributes, named),
  };
}

/** The rule of an achievement of the Admin API. */
export const achievementRule = (achievement: StoredRule & { trigger: Rule['type'] }, named: Named): Rule =>
  ruleOf(achievement.trigger, achievement, named);

/** The rule of a points trigger of the Admin API. */
export const triggerRule = (trigger: StoredRule & { type: Rule['type']; points: number }, named: Named): Rule => ({
  ...ruleOf(trigger.type, trigger, named),
  points: trigger.points,
});

/** ` after Ten flips and Week`; '' for an achievement that requires none. */
const afterText = ({ requires = [] }: Rule): string =>
  requires.length === 0 ? '' : ` after ${LIST.format(requires.map(({ name }) => name))}`;

/** The condition of a rule: `50 Flashcards flipped if the event’s subject is languages`. */
export function causeText(rule: Rule): string {
  return `${subjectText(rule)}${conditionText(rule)}${afterText(rule)}`;
}

/** `final ranks 2 to 10 % on Weekly`. */
function ranksText({ leaderboard, rankFrom = 1, rankTo, rankPercent }: Omit<Rule, 'type' | 'points'>): string {
  const last = rankTo === undefined ? `${number(rankPercent ?? 0)} %` : number(rankTo);
  const ranks = rankTo === rankFrom ? `rank ${last}` : `ranks ${number(rankFrom)} to ${last}`;
  return `final ${ranks} on ${leaderboard?.name ?? ''}`;
}

/** `a streak of 7`; repeated: `a streak of 7, 14, 21 and so on`. */
function streakText(length: number, isRepeated: boolean): string {
  if (!isRepeated) return `a streak of ${number(length)}`;
  const multiples = [length, 2 * length, 3 * length].map(number);
  return length === 1 ? 'every period of a streak' : `a streak of ${multiples.join(', ')} and so on`;
}

function subjectText({ type, points, ...rule }: Rule): string {
  const isRepeated = points !== undefined;
  const names = (rule.achievements ?? []).map(({ name }) => name);
  if (rule.leaderboard !== undefined) return ranksText(rule);
  switch (type) {
    case 'metric':
      return `${isRepeated ? everyOf(rule.threshold ?? 0, rule.metric?.name ?? '') : amountOf(rule.threshold ?? 0, rule.metric?.name ?? '')}${whenText(rule)}`;
    case 'streak':
      return streakText(rule.streakLength ?? 0, isRepeated);
    case 'achievement':
      if (rule.pointsSystem !== undefined)
        return `${rule.levelKey === undefined ? 'every level' : `the level ${rule.levelKey}`} of ${rule.pointsSystem.name}`;
      return `${names.length === 1 ? 'the achievement' : 'the achievements'} ${LIST.format(names)}`;
    case 'time':
      return every(rule.timeInterval ?? 1, rule.timeUnit ?? '');
    case 'user_creation':
      return 'a new user';
    case 'anniversary':
      return `${counted(rule.anniversaryYears ?? 0, 'year')} since the sign-up`;
    case 'api':
      return 'a call from your server';
  }
}

/** A whole rule: as `causeText`, and the points that a trigger awards. */
export const ruleText = (rule: Rule): string =>
  rule.points === undefined ? causeText(rule) : `${counted(rule.points, 'point')} for ${causeText(rule)}`;

interface Boost extends Limited {
  multiplier: number;
  start: string;
  end?: string | null | undefined;
  userId?: string | null | undefined;
}

/** `2 × points from 1 Mar 2026 to 7 Mar 2026 if the user’s plan is pro`. */
export function boostText(boost: Boost, named: Named): string {
  const end = boost.end ? ` to ${calendarDays(boost.end)}` : '';
  const user = boost.userId ? ` for the user ${boost.userId}` : '';
  const conditions = conditionText({ userAttributes: conditionsOf(boost.userAttributes, named), eventAttributes: [] });
  return `${number(boost.multiplier)} × points from ${calendarDays(boost.start)}${end}${user}${conditions}`;
}

interface Board {
  rankBy: 'metric' | 'points' | 'streak';
  aggregate?: 'sum' | 'max' | 'min' | 'last' | null | undefined;
  order?: 'descending' | 'ascending' | null | undefined;
  ties?: 'shared' | 'first' | null | undefined;
  secondaryAttributeId?: string | null | undefined;
  secondaryOrder?: 'ascending' | 'descending' | null | undefined;
  metricId?: string | null | undefined;
  pointsSystemId?: string | null | undefined;
  runUnit?: string | null | undefined;
  runInterval?: number | null | undefined;
  breakdownAttributes: readonly string[];
  teamAttributeId?: string | null | undefined;
  maxParticipants?: number | null | undefined;
  startTime?: string | null | undefined;
  endTime?: string | null | undefined;
}

const AGGREGATES = { sum: '', max: 'the highest ', min: 'the lowest ', last: 'the latest ' };

/** The subject of a ranking: `Flashcards flipped`, `the lowest Lap time`, `points of XP`. */
function rankingText({ rankBy, aggregate, order, metricId, pointsSystemId }: Board, named: Named): string {
  switch (rankBy) {
    case 'metric': {
      const by = aggregate ?? 'sum';
      // "The highest Score" suggests the other order, "the lowest Lap time" this one.
      const isUnusual = (order === 'ascending') !== (by === 'min');
      const first = isUnusual ? ` (${order === 'ascending' ? 'lowest' : 'highest'} first)` : '';
      return `${AGGREGATES[by]}${nameOf(named.metrics, metricId ?? '')}${first}`;
    }
    case 'points':
      return `points of ${nameOf(named.systems, pointsSystemId ?? '')}`;
    case 'streak':
      return 'length of the streak';
  }
}

const WEEK_DAYS = 7;

/** A run of whole weeks in weeks, which Laurel stores as days. */
export const inWeeks = <R extends Pick<Board, 'runUnit' | 'runInterval'>>(run: R): R =>
  run.runUnit === 'day' && run.runInterval && run.runInterval % WEEK_DAYS === 0
    ? { ...run, runUnit: 'week', runInterval: run.runInterval / WEEK_DAYS }
    : run;

/** `a new run every 2 weeks`; `one run` for a leaderboard that never starts again. */
function runsText(board: Board): string {
  const { runUnit, runInterval } = inWeeks(board);
  return runUnit ? `a new run ${every(runInterval ?? 1, runUnit)}` : 'one run';
}

/** `equal scores: the lower Moves, then who was first`. */
function tiesText({ secondaryAttributeId, secondaryOrder }: Board, { attributes }: Named): string {
  if (!secondaryAttributeId) return 'equal scores: who was first';
  const better = secondaryOrder === 'descending' ? 'higher' : 'lower';
  return `equal scores: the ${better} ${nameOf(attributes, secondaryAttributeId)}, then who was first`;
}

/** A whole leaderboard: `Ranked by Flashcards flipped, a new run every week, a separate ranking for each country`. */
export function boardText(board: Board, named: Named): string {
  const { breakdownAttributes, teamAttributeId, maxParticipants, startTime, endTime } = board;
  const groups = breakdownAttributes.map((id) => nameOf(named.attributes, id));
  const hours = [startTime && `from ${startTime}`, endTime && `until ${endTime}`].filter(Boolean).join(' ');
  return [
    `Ranked by ${rankingText(board, named)}`,
    runsText(board),
    ...(groups.length === 0 ? [] : [`a separate ranking for each ${LIST.format(groups)}`]),
    ...(teamAttributeId ? [`teams by ${nameOf(named.attributes, teamAttributeId)}`] : []),
    ...(hours === '' ? [] : [`only events ${hours}`]),
    ...(board.ties === 'first' ? [tiesText(board, named)] : []),
    ...(maxParticipants ? [`at most ${counted(maxParticipants, 'place')}`] : []),
  ].join(', ');
}
