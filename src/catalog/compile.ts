import type {
  Achievement,
  AttributeCondition,
  Leaderboard,
  Metric,
  PointsBoost,
  PointsSystem,
  PointsTrigger,
} from '../domain/catalog.ts';
import { toDecimal } from '../domain/decimal.ts';
import { dayOf, periodOf, periodStart } from '../domain/periods.ts';
import { runOf } from '../domain/runs.ts';
import type { CompiledCatalog } from './compiled-catalog.ts';
import type {
  CompiledPlan,
  Plan,
  Counter,
  PlanAchievement,
  PlanBoard,
  PlanBoost,
  PlanConditions,
  PlanStreak,
  PlanSystem,
  PlanTrigger,
} from './plan.ts';

const FREQUENCY = { daily: 1, weekly: 2, monthly: 3 } as const;
const ROUNDING = { down: 1, nearest: 2, up: 3 } as const;

/** Drops fields that are undefined, so that they are nil in Lua. */
const present = <T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

function userConditions(compiled: CompiledCatalog, conditions: AttributeCondition[]): PlanConditions | undefined {
  if (conditions.length === 0) return undefined;
  return conditions.map(({ attributeId, attributeValue }) => [
    compiled.attributesById.get(attributeId)?.no ?? 0,
    attributeValue,
  ]);
}

function compileStreak(compiled: CompiledCatalog): PlanStreak {
  const settings = compiled.catalog.streaks;
  return present<PlanStreak>({
    on: settings.enabled,
    frequency: FREQUENCY[settings.frequency],
    all: settings.evaluationMode === 'AND',
    metrics: settings.metrics.flatMap(({ metricId, threshold }) => {
      const no = compiled.metricsById.get(metricId)?.no;
      const { whole, micros } = toDecimal(threshold);
      return no === undefined ? [] : [[no, whole, micros] as [number, number, number]];
    }),
    freezes: settings.freezes.enabled ? settings.freezes.initial : 0,
    personal: settings.personalization ? compiled.catalog.metrics.map(({ no }) => no) : undefined,
  });
}

/** An achievement as the script takes it. */
export function compileAchievement(compiled: CompiledCatalog, achievement: Achievement): PlanAchievement {
  const users = userConditions(compiled, achievement.userAttributes);
  if (achievement.trigger === 'achievement') {
    const of = achievement.achievementIds.map((id) => compiled.achievementsById.get(id)?.no ?? 0);
    return present<PlanAchievement>({ no: achievement.no, users, of });
  }
  if (achievement.trigger === 'api') {
    return present<PlanAchievement>({
      no: achievement.no,
      users,
      locked: achievement.status === 'locked' ? true : undefined,
    });
  }
  if (achievement.trigger === 'streak') {
    const frequency = FREQUENCY[compiled.catalog.streaks.frequency];
    return present<PlanAchievement>({
      no: achievement.no,
      users,
      length: achievement.streakLength ?? 1,
      frequency,
    });
  }
  return present<PlanAchievement>({
    no: achievement.no,
    users,
    ...toDecimal(achievement.metricValue ?? 0),
    metric: compiled.metricsById.get(achievement.metricId ?? '')?.no ?? 0,
    counted: achievement.eventAttributes.length > 0 ? true : undefined,
  });
}

/**
 * Achievements that an event of the metric can complete: those of the metric, streaks and composites, and those
 * of other metrics with conditions on the user, whose attributes may have changed since their last event. Without
 * a metric: composites, which follow the completion of an API achievement.
 */
function achievementsFor(compiled: CompiledCatalog, metric: Metric | null): Achievement[] {
  return compiled.catalog.achievements.filter((achievement) => {
    if (achievement.status !== 'active' || achievement.trigger === 'api') return false;
    if (metric === null) return achievement.trigger === 'achievement';
    if (achievement.trigger !== 'metric' || achievement.metricId === metric.id) return true;
    return achievement.userAttributes.length > 0;
  });
}

function compileTrigger(compiled: CompiledCatalog, trigger: PointsTrigger): PlanTrigger {
  return present<PlanTrigger>({
    no: trigger.no,
    points: trigger.points,
    users: userConditions(compiled, trigger.userAttributes),
    threshold: trigger.metricThreshold ?? undefined,
    counted: trigger.eventAttributes.length > 0 ? true : undefined,
    length: trigger.streakLength ?? undefined,
    achievement: compiled.achievementsById.get(trigger.achievementId ?? '')?.no,
    blocks: trigger.blockIfOutOfPoints ? true : undefined,
  });
}

/** A boost as the script takes it. */
function compileBoost(compiled: CompiledCatalog, boost: PointsBoost): PlanBoost {
  return present<PlanBoost>({
    no: boost.no,
    from: dayOf(boost.start),
    to: boost.end === null ? undefined : dayOf(boost.end),
    multiplier: boost.multiplier,
    rounding: ROUNDING[boost.rounding],
    users: userConditions(compiled, boost.userAttributes),
  });
}

/** JSON of each user's own boosts: `{ "<points system no>": PlanBoost[] }`, by user ID. */
export function compilePersonalBoosts(compiled: CompiledCatalog): Map<string, string> {
  const byUser = new Map<string, Record<number, PlanBoost[]>>();
  for (const boost of compiled.catalog.boosts) {
    const system = compiled.pointsSystemsById.get(boost.systemId);
    if (boost.userId === null || system === undefined) continue;
    const own = byUser.get(boost.userId) ?? {};
    own[system.no] = [...(own[system.no] ?? []), compileBoost(compiled, boost)];
    byUser.set(boost.userId, own);
  }
  return new Map([...byUser].map(([userId, own]) => [userId, JSON.stringify(own)]));
}

function compileSystem(
  compiled: CompiledCatalog,
  system: PointsSystem,
  { metric, firstDay }: { metric: Metric | null; firstDay: number },
): PlanSystem {
  const triggers = compiled.catalog.triggers.filter((t) => t.systemId === system.id && t.status === 'active');
  const ofType = (type: PointsTrigger['type']): PlanTrigger[] =>
    triggers
      .filter((t) => t.type === type && (type !== 'metric' || t.metricId === metric?.id))
      .map((t) => compileTrigger(compiled, t));
  const boosts = compiled.catalog.boosts
    .filter((boost) => boost.systemId === system.id && boost.userId === null)
    .map((boost) => compileBoost(compiled, boost))
    .filter((boost) => boost.from <= firstDay + 2 && (boost.to ?? Infinity) >= firstDay);
  return present<PlanSystem>({
    no: system.no,
    max: system.maxPoints ?? undefined,
    creation: ofType('user_creation'),
    metric: ofType('metric'),
    streak: ofType('streak'),
    achievement: ofType('achievement'),
    boosts,
  });
}

const secondOfDay = (time: string): number =>
  time.split(':').reduce((seconds, part, index) => seconds + Number(part) * [3600, 60, 1][index]!, 0);

function compileBoard(compiled: CompiledCatalog, board: Leaderboard, days: number[]): PlanBoard {
  const groups = board.breakdownAttributes.map((id) => compiled.attributesById.get(id)?.no ?? 0);
  return present<PlanBoard>({
    no: board.no,
    by: board.rankBy,
    system: compiled.pointsSystemsById.get(board.pointsSystemId ?? '')?.no,
    max: board.maxParticipants ?? undefined,
    from: board.startTime === null ? undefined : secondOfDay(board.startTime),
    to: board.endTime === null ? undefined : secondOfDay(board.endTime),
    groups: groups.length === 0 ? undefined : groups,
    runs: days.map((day) => runOf(board, day)?.startDay ?? -1),
  });
}

function countersFor(compiled: CompiledCatalog, metric: Metric): Counter[] {
  const achievements = compiled.catalog.achievements.filter((a) => a.status === 'active' && a.trigger === 'metric');
  const triggers = compiled.catalog.triggers.filter((t) => t.status === 'active' && t.type === 'metric');
  return [...achievements, ...triggers]
    .filter((counting) => counting.metricId === metric.id && counting.eventAttributes.length > 0)
    .map(({ no, eventAttributes }) => ({
      no,
      conditions: eventAttributes.map(({ attributeId, attributeValue }): [string, string] => [
        compiled.attributesById.get(attributeId)?.key ?? '',
        attributeValue,
      ]),
    }));
}

/** Compiles the plan of a metric for a UTC day (epoch day). */
export const compilePlan = (compiled: CompiledCatalog, metric: Metric, utcDay: number): CompiledPlan =>
  compilePlanOf(compiled, metric, utcDay);

/**
 * Compiles the plan for calls about a user that are no event: what the first sight of a user and the completion
 * of an API achievement may bring about. It has no metric.
 */
export const compileUserPlan = (compiled: CompiledCatalog, utcDay: number): CompiledPlan =>
  compilePlanOf(compiled, null, utcDay);

/**
 * Compiles the plan for completing some achievements (by their numbers) for users who qualify already, and the
 * composites that may follow from them.
 */
export function compileBackdatingPlan(compiled: CompiledCatalog, nos: ReadonlySet<number>, utcDay: number): Plan {
  const achievements = compiled.catalog.achievements
    .filter(({ no, status, trigger }) => status === 'active' && (nos.has(no) || trigger === 'achievement'))
    .filter(({ trigger }) => trigger !== 'api')
    .map((achievement) => compileAchievement(compiled, achievement));
  return { ...compilePlanOf(compiled, null, utcDay).plan, achievements };
}

function compilePlanOf(compiled: CompiledCatalog, metric: Metric | null, utcDay: number): CompiledPlan {
  const { weekStart } = compiled.catalog.streaks;
  const days = [utcDay - 1, utcDay, utcDay + 1];
  const boards = compiled.catalog.leaderboards.filter(
    (board) =>
      (board.status === 'active' || board.status === 'scheduled') &&
      (metric === null ? board.rankBy === 'points' : board.rankBy !== 'metric' || board.metricId === metric.id),
  );
  const systems = compiled.catalog.pointsSystems
    .map((system) => compileSystem(compiled, system, { metric, firstDay: utcDay - 1 }))
    .filter(
      (system) => system.creation.length + system.metric.length + system.streak.length + system.achievement.length,
    );
  const plan = {
    metric: metric?.no ?? 0,
    firstDay: utcDay - 1,
    periods: days.map((day) => {
      const week = periodOf(day, 'weekly', weekStart);
      const month = periodOf(day, 'monthly', weekStart);
      const weekDay = periodStart(week, 'weekly', weekStart);
      const monthDay = periodStart(month, 'monthly', weekStart);
      return [day, week, month, day, weekDay, monthDay] as [number, number, number, number, number, number];
    }),
    streak: compileStreak(compiled),
    achievements: achievementsFor(compiled, metric).map((achievement) => compileAchievement(compiled, achievement)),
    systems,
    boards: boards.map((board) => compileBoard(compiled, board, days)),
    ...(systems.some((s) => [...s.metric, ...s.streak, ...s.achievement].some((t) => t.blocks)) && {
      blocks: true as const,
    }),
  };
  return { plan, json: JSON.stringify(plan), counters: metric === null ? [] : countersFor(compiled, metric) };
}
