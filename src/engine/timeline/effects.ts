import type { Achievement, Leaderboard, PointsBoost, PointsLevel, PointsTrigger } from '../../domain/catalog.ts';
import { dateOf, DAY_MS, dayOf } from '../../domain/periods.ts';
import { floorOf, foldOf } from '../../domain/leaderboard.ts';
import { playedRule, runOf } from '../../domain/runs.ts';
import type { AttributeCondition } from '../../domain/schemas.ts';
import { type Caused, ruleField, type TimelineRule } from '../../domain/administration/timeline.ts';
import { ACHIEVEMENT } from '../../domain/fields/achievement.ts';
import type { Fields } from '../../domain/fields/field.ts';
import { ACHIEVEMENT_RANKS } from '../../domain/fields/rank.ts';
import { POINTS_TRIGGER } from '../../domain/fields/points.ts';
import { additionsOf } from '../../domain/fields/wire.ts';
import { zoneOffset } from '../../domain/zone.ts';
import type { StoredResource, Then } from '../../postgres/timeline/catalog-then.ts';
import type { TimelineAwardRow, TimelineCompletionRow } from '../../postgres/timeline/events.ts';
import type { CatalogThen, ResourceThen } from './catalog-then.ts';
import { type Happening, thenOf } from './happening.ts';

/** Loads the resources that explain the causes of a page. */
export async function loadCauses(then: CatalogThen, all: readonly Happening[]): Promise<void> {
  await then.load(
    all.flatMap(({ event, recomputation, awards, completions }) => [
      ...(recomputation === null ? [] : [...recomputation.gained, ...recomputation.lost]),
      ...(event === null ? [] : [event.metricNo, ...event.achievementNos]),
      ...awards.flatMap(({ systemNo, triggerNo, boostNos }) => [systemNo, triggerNo, ...boostNos]),
      ...completions.map(({ achievementNo }) => achievementNo),
    ]),
  );
  const versions = all.flatMap((one) => {
    const when = thenOf(one);
    return when === null ? [] : explaining(then, one, when).map((resource) => ({ resource, when }));
  });
  await then.loadThen(versions);
  await then.loadById(versions.flatMap(({ resource, when }) => referredTo(then.at(resource, when))));
  await then.loadFrequencies(all.flatMap((one) => (one.event?.streak ? [thenOf(one)!] : [])));
}

function explaining(then: CatalogThen, { event, awards, completions }: Happening, { atMs }: Then): StoredResource[] {
  const nos = [
    ...awards.flatMap(({ triggerNo, boostNos }) => [triggerNo, ...boostNos]),
    ...completions.map(({ achievementNo }) => achievementNo),
  ];
  const moving = event !== null || awards.length > 0;
  return [
    ...nos.map((no) => then.byNo(no)).filter((resource) => resource !== null),
    ...(awards.length > 0 ? then.there('points_level', atMs) : []),
    ...(moving ? then.there('leaderboard', atMs) : []),
  ];
}

/** Effects in order: the streak, achievements, awards with their levels, scores. */
export function causedBy(then: CatalogThen, happening: Happening, user: UserNow): Caused[] {
  const when = thenOf(happening);
  if (when === null) return [];
  const { event, awards, completions } = happening;
  const caused: Caused[] = [];
  if (event !== null && event.streak !== null)
    caused.push({ kind: 'streak', length: event.streak, frequency: then.frequency(when) });
  for (const completion of completions) caused.push({ kind: 'achievement', ...completedOf(then, completion, when) });
  for (const award of awards) caused.push(awardOf(then, award, when), ...levelOf(then, award, when));
  return [...caused, ...scoresOf(then, happening, when, user)];
}

export function completedOf(
  then: CatalogThen,
  { achievementNo }: TimelineCompletionRow,
  when: Then,
): Pick<Extract<Caused, { kind: 'achievement' }>, 'achievement' | 'rule'> {
  const resource = then.byNo(achievementNo);
  return {
    achievement: then.namedNo(achievementNo),
    rule: resource === null ? null : achievementRule(then, then.at(resource, when)),
  };
}

/** The kind of rule that completed an achievement; `null` if unknown. */
export function triggerOf(
  then: CatalogThen,
  { achievementNo }: TimelineCompletionRow,
): Achievement['trigger'] | 'rank' | null {
  const resource = then.byNo(achievementNo);
  if (resource === null) return null;
  const { trigger } = resource.doc as Achievement;
  // Missing in rules stored before achievements had it.
  const { leaderboardId = null } = resource.doc as Partial<Achievement>;
  return trigger === 'api' && leaderboardId !== null ? 'rank' : trigger;
}

function awardOf(then: CatalogThen, award: TimelineAwardRow, when: Then): Caused {
  const trigger = then.byNo(award.triggerNo);
  return {
    kind: 'award',
    id: award.id,
    pointsSystem: then.namedNo(award.systemNo),
    awarded: award.awarded,
    total: award.total,
    triggerId: trigger?.id ?? null,
    rule: trigger === null ? null : triggerRule(then, then.at(trigger, when)),
    boosts: award.boostNos.map((no) => {
      const boost = then.byNo(no);
      const was = boost === null ? null : then.at(boost, when);
      const multiplier = was?.known === true ? (was.doc as PointsBoost).multiplier : null;
      return { id: boost?.id ?? null, name: then.namedNo(no).name, multiplier };
    }),
  };
}

/** The level that an award led to, by the levels at the time; empty if it did not change. */
function levelOf(then: CatalogThen, { systemNo, awarded, total }: TimelineAwardRow, when: Then): Caused[] {
  const system = then.byNo(systemNo);
  const levels = then
    .there('points_level', when.atMs)
    .map((resource) => ({ resource, level: then.at(resource, when).doc as PointsLevel }))
    .filter(({ level }) => level.systemId === system?.id)
    .toSorted((a, b) => a.level.points - b.level.points);
  const reached = (points: number): StoredResource | null =>
    levels.findLast(({ level }) => level.points <= points)?.resource ?? null;
  const [before, after] = [reached(total - awarded), reached(total)];
  if (before === after) return [];
  return [
    {
      kind: 'level',
      pointsSystem: then.namedNo(systemNo),
      level: after && then.named(after.id),
      previousLevel: before && then.named(before.id),
    },
  ];
}

/** The resources that a trigger or achievement names. */
function referredTo({ doc }: ResourceThen): string[] {
  const { userAttributes, eventAttributes } = doc as Partial<PointsTrigger & Achievement>;
  const attributes = [...(userAttributes ?? []), ...(eventAttributes ?? [])].map(({ attributeId }) => attributeId);
  const fields: Fields = { ...POINTS_TRIGGER, ...ACHIEVEMENT };
  const named = Object.keys(fields).filter((name) => fields[name]!.refersTo !== undefined);
  const ids = named.flatMap((name) => (doc as Record<string, string[] | string | null | undefined>)[name] ?? []);
  return [...ids, ...attributes];
}

/** The rule of a trigger at the time, with current names; `null` if unknown. */
function triggerRule(then: CatalogThen, was: ResourceThen): TimelineRule | null {
  if (!was.known) return null;
  const trigger = was.doc as PointsTrigger;
  return {
    type: trigger.type,
    points: trigger.points,
    ...(trigger.type === 'metric' && { metric: then.named(trigger.metricId), threshold: trigger.metricThreshold ?? 1 }),
    ...(trigger.type === 'streak' && { streakLength: trigger.streakLength ?? 1 }),
    ...(trigger.type === 'achievement' && { achievements: [then.named(trigger.achievementId)] }),
    ...(trigger.type === 'time' && { timeUnit: trigger.timeUnit ?? 'days', timeInterval: trigger.timeInterval ?? 1 }),
    ...additionsThen(then, POINTS_TRIGGER, trigger),
    ...conditionsOf(then, trigger),
  };
}

/** Laurel's additions to a rule, with resources by their names. */
const additionsThen = (then: CatalogThen, fields: Fields, rule: object): Partial<TimelineRule> =>
  Object.fromEntries(
    Object.entries(additionsOf(fields, rule)).map(([name, value]) => [
      ruleField(name),
      ruleField(name) === name ? value : then.named(value as string),
    ]),
  );

function achievementRule(then: CatalogThen, was: ResourceThen): TimelineRule | null {
  if (!was.known) return null;
  const achievement = was.doc as Achievement;
  const { trigger: type } = achievement;
  // Missing in rules stored before achievements had it.
  const requires = (achievement as Partial<Achievement>).requires ?? [];
  return {
    type,
    ...(type === 'metric' && {
      metric: then.named(achievement.metricId),
      threshold: achievement.metricValue ?? 0,
      ...(achievement.repeat && { repeat: achievement.repeat }),
      ...(achievement.startDate && { startDate: achievement.startDate }),
      ...(achievement.endDate && { endDate: achievement.endDate }),
    }),
    ...(type === 'streak' && { streakLength: achievement.streakLength ?? 1 }),
    ...(type === 'achievement' && { achievements: achievement.achievementIds.map((id) => then.named(id)) }),
    ...(type === 'anniversary' && { anniversaryYears: achievement.anniversaryYears ?? 1 }),
    ...additionsThen(then, ACHIEVEMENT_RANKS, achievement),
    ...(requires.length > 0 && { requires: requires.map((id) => then.named(id)) }),
    ...conditionsOf(then, achievement),
  };
}

function conditionsOf(
  then: CatalogThen,
  { userAttributes, eventAttributes }: Partial<Pick<PointsTrigger, 'userAttributes' | 'eventAttributes'>>,
): Pick<TimelineRule, 'userAttributes' | 'eventAttributes'> {
  const pairs = (conditions: readonly AttributeCondition[] = []): { key: string; value: string }[] =>
    conditions.map(({ attributeId, attributeValue }) => {
      const { key, name } = then.named(attributeId);
      return { key: key ?? name, value: attributeValue };
    });
  return { userAttributes: pairs(userAttributes), eventAttributes: pairs(eventAttributes) };
}

/** User data that decides whether something counts on a board; history lacks its former values. */
export interface UserNow {
  tz: string | null;
  /** IDs of the attributes that the user has. */
  attributeIds: ReadonlySet<string>;
}

interface Scored {
  localDay: number;
  secondOfDay: number;
  metricId: string | undefined;
  happening: Happening;
}

/** The changes of the user's scores on leaderboards, by the boards' configuration at the time. Ranks are not stored. */
function scoresOf(then: CatalogThen, happening: Happening, when: Then, user: UserNow): Caused[] {
  const { event, awards } = happening;
  const localDate = event?.localDate ?? awards[0]?.localDate;
  if (localDate === undefined) return [];
  const offsetMs = (user.tz === null ? 0 : (zoneOffset(user.tz, when.atMs)?.offsetSeconds ?? 0)) * 1000;
  const scored: Scored = {
    localDay: dayOf(localDate),
    secondOfDay: Math.floor(((((when.atMs + offsetMs) % DAY_MS) + DAY_MS) % DAY_MS) / 1000),
    metricId: event === null ? undefined : then.byNo(event.metricNo)?.id,
    happening,
  };
  return then.there('leaderboard', when.atMs).flatMap((resource) => {
    const board = then.at(resource, when).doc as Leaderboard;
    const change = changeOf(then, board, scored);
    const run = change === null || !counts(board, scored, user) ? null : runOf(playedRule(board), scored.localDay);
    if (run === null || change === null) return [];
    const aggregate = board.aggregate ?? 'sum';
    const score = { leaderboard: then.named(resource.id), run: dateOf(run.startDay), change };
    return [{ kind: 'leaderboard' as const, ...score, ...(aggregate !== 'sum' && { aggregate }) }];
  });
}

function counts(board: Leaderboard, { secondOfDay }: Scored, { attributeIds }: UserNow): boolean {
  if (board.status !== 'active' && board.status !== 'scheduled') return false;
  if (board.breakdownAttributes.some((id) => !attributeIds.has(id))) return false;
  if (board.startTime !== null && secondOfDay < secondOf(board.startTime)) return false;
  return board.endTime === null || secondOfDay < secondOf(board.endTime);
}

/**
 * What the score changed by or, on a board of the highest, lowest or last value, the value that competed there; `null` if
 * nothing counted.
 */
function changeOf(
  then: CatalogThen,
  board: Leaderboard,
  { metricId, happening: { event, awards } }: Scored,
): number | null {
  const unless0 = (change: number): number | null => (change === 0 ? null : change);
  switch (board.rankBy) {
    case 'metric':
      if (board.metricId !== metricId || event === null) return null;
      if (foldOf(board) !== null) return event.reverses === null ? event.value : null;
      return floorOf(board) === 0 ? unless0(event.value) : event.value;
    case 'points':
      return unless0(
        awards
          .filter(({ systemNo }) => then.byNo(systemNo)?.id === board.pointsSystemId)
          .reduce((sum, { awarded }) => sum + awarded, 0),
      );
    case 'streak':
      return event?.streak ? 1 : null;
  }
}

const secondOf = (time: string): number =>
  time.split(':').reduce((seconds, part, index) => seconds + Number(part) * [3600, 60, 1][index]!, 0);
