import {
  type Achievement,
  type Catalog,
  type Leaderboard,
  neededBy,
  type PointsBoost,
  type PointsTrigger,
} from '../domain/catalog.ts';
import type { AttributeCondition } from '../domain/schemas.ts';
import { dayOf, epochDay } from '../domain/periods.ts';
import { boardStatus } from '../domain/runs.ts';
import type { Kind } from '../domain/kinds.ts';
import { problem, type Problem } from './rules/problem.ts';

// Redis handles one event at a time. These limits bound an event's cost: the number of resources in force per metric or points
// system, and the total work that an event may cause.

export const MOST = { leaderboard: 100, achievement: 200, points_trigger: 100, points_boost: 50 } as const;

type Counted = keyof typeof MOST;

/** Maximum work of one event: an upper bound in microseconds of Redis. Figures: docs/api/limits.md. */
export const MOST_EVENT_WORK = 5_000;

/** Maximum work of one function call. A user or event with more gets a call of its own. */
export const CALL_WORK = 4 * MOST_EVENT_WORK;

/** Upper bound of each item's cost, in microseconds: measured and rounded up. */
const WORK = {
  event: 50,
  /** Score, ranks before and after, threshold, and a change of group. */
  board: 12,
  /** Checking and completing it. */
  achievement: 6,
  condition: 0.1,
  /** Per character of a condition's value, because it is part of the plan. */
  character: 0.005,
  part: 0.1,
  trigger: 1.5,
  /** Each award lists its boosts. */
  boostOfTrigger: 0.1,
  system: 8,
  /** One sum for each frequency. */
  streakMetric: 3,
  /** Any leaderboard, in force or not, because the plan lists all. */
  named: 0.05,
} as const;

/** Number of users or events, each of this much work, that fit into one call: at most `most`, at least one. */
export const fittingCall = (work: number, most: number): number =>
  Math.max(1, Math.min(most, Math.floor(CALL_WORK / work)));

/** Memoises a function of the catalog while its lists are the same. Lists are never changed in place. */
function remembered<T>(make: (catalog: Catalog, utcDay: number) => T): (catalog: Catalog, utcDay: number) => T {
  let last: { from: readonly unknown[]; made: T } | null = null;
  return (catalog, utcDay) => {
    const { achievements, triggers, boosts, leaderboards, pointsSystems, streaks } = catalog;
    const from = [utcDay, achievements, triggers, boosts, leaderboards, pointsSystems, streaks];
    if (last === null || from.some((part, index) => part !== last!.from[index]))
      last = { from, made: make(catalog, utcDay) };
    return last.made;
  };
}

/** The group in which a resource counts, and its description in messages; `null` if the resource is not in force. */
const GROUP: {
  leaderboard: (board: Leaderboard, utcDay: number) => [string, string] | null;
  achievement: (achievement: Achievement) => [string, string] | null;
  points_trigger: (trigger: PointsTrigger) => [string, string] | null;
  points_boost: (boost: PointsBoost, utcDay: number) => [string, string] | null;
} = {
  leaderboard: (board, utcDay) => {
    const status = boardStatus(board, utcDay);
    if (status === null || status === 'finished') return null;
    if (board.rankBy === 'metric') return [`metric ${board.metricId}`, 'active leaderboards rank by one metric'];
    if (board.rankBy === 'points')
      return [`points ${board.pointsSystemId}`, 'active leaderboards rank by one points system'];
    return ['streak', 'active leaderboards rank by the streak'];
  },
  achievement: ({ status, trigger, metricId }) => {
    if (status !== 'active' || trigger === 'api') return null;
    if (trigger === 'metric') return [`metric ${metricId}`, 'active achievements count one metric'];
    return [trigger, `active achievements have the trigger '${trigger}'`];
  },
  points_trigger: ({ status, systemId }) =>
    status === 'active' ? [systemId, 'triggers of a points system are active'] : null,
  points_boost: ({ end, userId, systemId }, utcDay) => {
    // Boosts for one user are part of each of the user's events, even after their end.
    if (userId !== null) return [`${systemId} ${userId}`, 'boosts of a points system are for one user'];
    // A day has ended in every time zone when the next UTC day has ended.
    if (end !== null && utcDay > dayOf(end) + 1) return null;
    return [systemId, 'boosts of a points system are for all users and have not ended'];
  },
};

const groupOf = <K extends Counted>(kind: K, resource: never, utcDay: number): [string, string] | null =>
  (GROUP[kind] as (of: never, utcDay: number) => [string, string] | null)(resource, utcDay);

const LIST = {
  leaderboard: 'leaderboards',
  achievement: 'achievements',
  points_trigger: 'triggers',
  points_boost: 'boosts',
} as const;

const inForce = remembered((catalog, utcDay) => {
  const counts = { leaderboard: new Map(), achievement: new Map(), points_trigger: new Map(), points_boost: new Map() };
  for (const kind of Object.keys(MOST) as Counted[]) {
    const counted: Map<string, number> = counts[kind];
    for (const resource of catalog[LIST[kind]]) {
      const group = groupOf(kind, resource as never, utcDay);
      if (group !== null) counted.set(group[0], (counted.get(group[0]) ?? 0) + 1);
    }
  }
  return counts as Record<Counted, Map<string, number>>;
});

const triggersOfMetrics = remembered(({ triggers }) => {
  const counts = new Map<string, number>();
  for (const { status, metricId } of triggers)
    if (status === 'active' && metricId !== null) counts.set(metricId, (counts.get(metricId) ?? 0) + 1);
  return counts;
});

/** Reports if a resource exceeds a limit on resources in force. */
export function* limitProblems(kind: Kind, resource: object, catalog: Catalog, nowMs: number): Generator<Problem> {
  if (!Object.hasOwn(MOST, kind)) return;
  const counted = kind as Counted;
  const utcDay = epochDay(nowMs);
  const group = groupOf(counted, resource as never, utcDay);
  if (group === null) return;
  const field = counted === 'points_boost' ? 'end' : 'status';
  const remedy = counted === 'points_boost' ? 'delete or end' : 'set inactive';
  const most = MOST[counted];
  if ((inForce(catalog, utcDay)[counted].get(group[0]) ?? 0) > most)
    yield problem(field, `at most ${most} ${group[1]}: ${remedy} some of the others first`);
  const { metricId = null } = resource as { metricId?: string | null };
  if (counted !== 'points_trigger' || metricId === null) return;
  if ((triggersOfMetrics(catalog, utcDay).get(metricId) ?? 0) > MOST.points_trigger)
    yield problem(
      'status',
      `at most ${MOST.points_trigger} active triggers count one metric: set some of them inactive first`,
    );
}

const workOfConditions = (conditions: readonly AttributeCondition[]): number =>
  conditions.reduce((sum, { attributeValue }) => sum + WORK.condition + attributeValue.length * WORK.character, 0);

const workOfAchievement = (achievement: Achievement): number =>
  WORK.achievement + workOfConditions(achievement.userAttributes) + neededBy(achievement).length * WORK.part;

export interface EventWork {
  /** Work of every event, whatever its metric. */
  shared: number;
  own: ReadonlyMap<string, number>;
}

/** Work that events may cause on a UTC day and later; resources that end only reduce it. O(resources). */
export const eventWork = remembered((catalog, utcDay): EventWork => {
  let shared = WORK.event + catalog.leaderboards.length * WORK.named;
  shared += catalog.streaks.metrics.length * WORK.streakMetric;
  const own = new Map<string, number>();
  // Resources of a metric concern its own events; those that depend on user attributes concern all, because any event can change these.
  const add = (metricId: string | null, reachedByAll: boolean, work: number): void => {
    if (metricId === null || reachedByAll) shared += work;
    else own.set(metricId, (own.get(metricId) ?? 0) + work);
  };
  for (const board of catalog.leaderboards) {
    if (groupOf('leaderboard', board as never, utcDay) === null) continue;
    add(board.metricId, board.breakdownAttributes.length > 0, WORK.board);
  }
  for (const achievement of catalog.achievements) {
    const { status, trigger, metricId, userAttributes, requires } = achievement;
    if (status !== 'active' || trigger === 'api') continue;
    add(metricId, userAttributes.length + requires.length > 0, workOfAchievement(achievement));
  }
  const boosts = boostsOfSystems(catalog, utcDay);
  const systems = new Set<string>();
  for (const { status, systemId, metricId, userAttributes } of catalog.triggers) {
    if (status !== 'active') continue;
    systems.add(systemId);
    const work = WORK.trigger + (boosts.get(systemId)?.perAward ?? 0) + workOfConditions(userAttributes);
    add(metricId, false, work);
  }
  for (const id of systems) shared += WORK.system + (boosts.get(id)?.conditions ?? 0);
  return { shared, own };
});

function boostsOfSystems(
  { boosts }: Catalog,
  utcDay: number,
): ReadonlyMap<string, { perAward: number; conditions: number }> {
  const ofAll = new Map<string, { boosts: number; conditions: number }>();
  const ofOne = new Map<string, number>();
  const mostOfOne = new Map<string, number>();
  for (const boost of boosts) {
    const group = groupOf('points_boost', boost as never, utcDay);
    if (group === null) continue;
    const { systemId, userId, userAttributes } = boost;
    if (userId === null) {
      const sum = ofAll.get(systemId) ?? { boosts: 0, conditions: 0 };
      sum.boosts += 1;
      sum.conditions += workOfConditions(userAttributes);
      ofAll.set(systemId, sum);
    } else {
      const count = (ofOne.get(group[0]) ?? 0) + 1;
      ofOne.set(group[0], count);
      mostOfOne.set(systemId, Math.max(mostOfOne.get(systemId) ?? 0, count));
    }
  }
  return new Map(
    [...new Set([...ofAll.keys(), ...mostOfOne.keys()])].map((id) => {
      const all = ofAll.get(id) ?? { boosts: 0, conditions: 0 };
      return [
        id,
        { perAward: (all.boosts + (mostOfOne.get(id) ?? 0)) * WORK.boostOfTrigger, conditions: all.conditions },
      ];
    }),
  );
}

export const workOfMetric = ({ shared, own }: EventWork, metricId: string): number => shared + (own.get(metricId) ?? 0);

/** The metric whose events cause the most work, and how much; `null` if there are no metrics. */
function costliest(catalog: Catalog, utcDay: number): { key: string; work: number } | null {
  const all = eventWork(catalog, utcDay);
  let most: { key: string; work: number } | null = null;
  for (const { id, key } of catalog.metrics) {
    const work = workOfMetric(all, id);
    if (most === null || work > most.work) most = { key, work };
  }
  return most;
}

/** Why a draft is refused for too much work per event. `null` if it is within the limit, or the work was as high before. */
export function tooMuchWork(edit: { catalog: Catalog; before: Catalog; nowMs: number }): string | null {
  const { catalog, before, nowMs } = edit;
  const utcDay = epochDay(nowMs);
  const most = costliest(catalog, utcDay);
  if (most === null || most.work <= MOST_EVENT_WORK) return null;
  if (most.work <= (costliest(before, utcDay)?.work ?? 0)) return null;
  return `an event of metric '${most.key}' ${workText(most.work)}`;
}

/** The end of a message that begins with the cause of the work. */
export const workText = (work: number): string =>
  `would take up to ${(work / 1_000).toFixed(1)} ms of Redis for all that it reaches (leaderboards, achievements, triggers ` +
  `and boosts in force), and may take ${MOST_EVENT_WORK / 1_000}: set some of them inactive`;
