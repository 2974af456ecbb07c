import { compileAchievement, compileQuest, questsOf } from '../../catalog/compile/achievements.ts';
import { compileSystem } from '../../catalog/compile/points.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Counter, PlanAchievement, PlanQuest, PlanSystem } from '../../rules/plan.ts';
import type { Achievement, Metric } from '../../domain/catalog.ts';
import { decimalText, toMicros } from '../../domain/decimal.ts';
import { daysOf, isQuest, periodOf } from '../../domain/repeat.ts';
import { matches } from '../achievements/quests.ts';

export interface QuestRule extends Pick<PlanQuest, 'no' | 'users' | 'requires'> {
  /** The sum that completes a period, in millionths. */
  wanted: bigint;
  /** Number of the period with a local day (epoch day); `null` outside of the season. */
  periodOf: (day: number) => number | null;
  /** Last local day of a period. */
  lastDay: (period: number) => number;
  firstDay: (period: number) => number;
  counts: (attributes: Readonly<Record<string, string>> | null) => boolean;
}

export interface Rules {
  /** With all boosts, and the triggers that pay without an event. */
  systems: PlanSystem[];
  /** By metric number: the same systems with the metric's triggers, if any has one. */
  systemsOf: ReadonlyMap<number, PlanSystem[]>;
  /** Achievements that events and composites complete, except repeating ones. */
  achievements: PlanAchievement[];
  /** Repeating achievements, by metric number. */
  quests: ReadonlyMap<number, QuestRule[]>;
  /** Metrics whose events count for an achievement or a trigger. */
  metricNos: number[];
  /** By metric number: achievements and triggers with a counter of matching events. */
  counters: ReadonlyMap<number, Counter[]>;
  /** Whether any trigger pays for the length of the streak. */
  streaks: boolean;
}

export function rulesOf(compiled: CompiledCatalog, points: boolean, utcDay: number): Rules {
  const { catalog } = compiled;
  const systemsFor = (metric: Metric | null): PlanSystem[] =>
    catalog.pointsSystems.map((system) => compileSystem(compiled, system, { metric, firstDay: null }));
  const systems = systemsFor(null);
  const systemsOf = new Map(
    catalog.metrics.flatMap((metric): [number, PlanSystem[]][] => {
      const own = systemsFor(metric);
      return own.some((system) => system.metric.length > 0) ? [[metric.no, own]] : [];
    }),
  );
  const achievements = catalog.achievements
    .filter(({ status, trigger }) => status === 'active' && trigger !== 'api' && trigger !== 'anniversary')
    .filter((achievement) => !isQuest(achievement))
    .map((achievement) => compileAchievement(compiled, achievement));
  const counters = new Map<number, Counter[]>();
  for (const { no, key } of catalog.metrics) {
    const counting = compiled.plan(key, utcDay)?.counters ?? [];
    const relevant = counting.filter((counter) => points || compiled.achievementsByNo.has(counter.no));
    if (relevant.length > 0) counters.set(no, relevant);
  }
  const quests = new Map(
    catalog.metrics.flatMap((metric): [number, QuestRule[]][] => {
      const repeating = questsOf(compiled, metric);
      return repeating.length === 0 ? [] : [[metric.no, repeating.map((quest) => questRule(compiled, quest))]];
    }),
  );
  const paying = points ? systemsOf.keys() : [];
  return {
    systems,
    systemsOf,
    achievements,
    quests,
    metricNos: [...new Set([...paying, ...counters.keys(), ...quests.keys()])],
    counters,
    streaks: points && systems.some(({ streak }) => streak.length > 0),
  };
}

function questRule(compiled: CompiledCatalog, quest: Achievement): QuestRule {
  const { weekStart } = compiled.catalog.streaks;
  const { no, users, requires, whole, micros } = compileQuest(compiled, quest);
  return {
    no,
    ...(users !== undefined && { users }),
    ...(requires !== undefined && { requires }),
    wanted: toMicros(decimalText({ whole, micros })),
    periodOf: (day) => periodOf(quest, day, weekStart),
    firstDay: (period) => daysOf(quest, period, weekStart).fromDay,
    lastDay: (period) => daysOf(quest, period, weekStart).toDay,
    counts: (attributes) => matches(compiled, quest, attributes),
  };
}
