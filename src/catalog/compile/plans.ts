import type { Achievement, Metric } from '../../domain/catalog.ts';
import { isQuest } from '../../domain/repeat.ts';
import {
  achievementsFor,
  chainsOf,
  compileAchievement,
  compileAchievements,
  compileQuest,
  questsOf,
} from './achievements.ts';
import { compileBoard, presentBoards } from './boards.ts';
import { compileGuards, countersFor } from './parts.ts';
import { compileRankSystems, compileSystems, compileTimeSystems, triggersOf, withoutBlocks } from './points.ts';
import { compileStreak } from './streak.ts';
import { eventWork, workOfMetric } from '../event-work.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import type { CompiledPlan, Plan, PlanBoard } from '../../rules/plan.ts';
import { localDayIn } from '../../rules/streaks.ts';

/** Compiles the plan for completing achievements (by number) for users who already qualify, and the others that may follow. */
export function compileBackdatingPlan(catalogIndex: CatalogIndex, nos: ReadonlySet<number>, utcDay: number): Plan {
  const achievements = catalogIndex.catalog.achievements
    .filter(
      ({ no, status, trigger, requires }) =>
        status === 'active' && (nos.has(no) || trigger === 'achievement' || requires.length > 0),
    )
    .filter(({ trigger }) => trigger !== 'api');
  const repeating = achievements.filter((achievement) => isQuest(achievement) && nos.has(achievement.no));
  return {
    ...compilePlan(catalogIndex, null, utcDay).plan,
    achievements: compileAchievements(
      catalogIndex,
      achievements.filter((achievement) => !isQuest(achievement)),
    ),
    ...(repeating.length > 0 && { quests: repeating.map((achievement) => compileQuest(catalogIndex, achievement)) }),
  };
}

/** Compiles the plan for finding users who would qualify for an achievement, whatever its status. */
export const compilePreviewPlan = (catalogIndex: CatalogIndex, achievement: Achievement, utcDay: number): Plan => ({
  ...compilePlan(catalogIndex, null, utcDay).plan,
  // Of a repeating achievement, the sum of the user's current period counts.
  achievements: [{ ...compileAchievement(catalogIndex, achievement), ...(isQuest(achievement) && { counted: true }) }],
  systems: [],
  boards: [],
});

/** Compiles the plan for counting years on a UTC day: anniversaries and composites. No trigger blocks. */
export function compileAnniversaryPlan(catalogIndex: CatalogIndex, utcDay: number): Plan {
  const anniversaries = catalogIndex.catalog.achievements.filter(({ trigger }) => trigger === 'anniversary');
  const plan = compileBackdatingPlan(catalogIndex, new Set(anniversaries.map(({ no }) => no)), utcDay);
  return { ...plan, systems: plan.systems.map(withoutBlocks) };
}

/** Compiles the plan for `time` triggers whose periods end on a UTC day. */
export function compileTimePlan(catalogIndex: CatalogIndex, utcDay: number): Plan {
  const systems = compileTimeSystems(catalogIndex, utcDay - 1);
  const { plan } = compilePlan(catalogIndex, null, utcDay);
  return { ...plan, achievements: [], systems, boards: plan.boards.filter(({ by }) => by === 'points') };
}

/** Compiles the plan for rewarding ranks of runs that became final on a UTC day. No trigger blocks. */
export function compileRankPlan(catalogIndex: CatalogIndex, utcDay: number): Plan {
  const systems = compileRankSystems(catalogIndex, utcDay - 1);
  return { ...compilePlan(catalogIndex, null, utcDay).plan, systems };
}

/** Compiles the plan for sweeping streaks, with the leaderboards that rank by streak, at any time of day. */
export function compileSweepPlan(catalogIndex: CatalogIndex, utcDay: number): Plan {
  const { plan } = compilePlan(catalogIndex, null, utcDay);
  const boards = plan.boards
    .filter(({ by }) => by === 'streak')
    .map(({ from: _from, to: _to, ...board }): PlanBoard => board);
  return { ...plan, achievements: [], systems: [], boards };
}

/** Compiles the plan for events of a metric; `null`: for other calls, such as creating a user or completing an API achievement. */
export function compilePlan(catalogIndex: CatalogIndex, metric: Metric | null, utcDay: number): CompiledPlan {
  const { weekStart } = catalogIndex.catalog.streaks;
  const days = [utcDay - 1, utcDay, utcDay + 1];
  const boards = catalogIndex.catalog.leaderboards.filter(
    (board) =>
      (board.status === 'active' || board.status === 'scheduled') &&
      (metric === null
        ? board.rankBy !== 'metric'
        : board.rankBy !== 'metric' || board.metricId === metric.id || board.breakdownAttributes.length > 0),
  );
  const systems = compileSystems(catalogIndex, { metric, firstDay: utcDay - 1 });
  const quests = metric === null ? [] : questsOf(catalogIndex, metric);
  const chains = chainsOf(catalogIndex);
  const plan = {
    version: catalogIndex.catalog.version,
    metric: metric?.no ?? 0,
    firstDay: utcDay - 1,
    periods: days.map((day) => {
      const { week, month, weekStart: weekDay, monthStart } = localDayIn(day, weekStart);
      return [day, week, month, day, weekDay, monthStart] as [number, number, number, number, number, number];
    }),
    streak: compileStreak(catalogIndex),
    achievements: compileAchievements(catalogIndex, achievementsFor(catalogIndex, metric)),
    ...(quests.length > 0 && { quests: quests.map((achievement) => compileQuest(catalogIndex, achievement)) }),
    ...(chains.length > 0 && { chains: chains.map((achievement) => compileQuest(catalogIndex, achievement)) }),
    systems,
    boards: boards.map((board) => compileBoard(catalogIndex, board, { metric, days })).toSorted((a, b) => a.no - b.no),
    ...(metric !== null && { present: presentBoards(catalogIndex) }),
    ...(metric !== null && compileGuards(metric)),
    ...(boards.some(({ leagues }) => leagues !== null) && { leagues: true as const }),
    ...(systems.some((system) => triggersOf(system).some(({ blocks }) => blocks)) && { blocks: true as const }),
  };
  const work = eventWork(catalogIndex.catalog, utcDay);
  return {
    plan,
    counters: metric === null ? [] : countersFor(catalogIndex, metric),
    work: metric === null ? work.shared : workOfMetric(work, metric.id),
  };
}
