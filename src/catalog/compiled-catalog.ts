import type {
  Achievement,
  Attribute,
  Catalog,
  Leaderboard,
  Metric,
  PointsBoost,
  PointsLevel,
  PointsSystem,
  PointsTrigger,
} from '../domain/catalog.ts';
import { compilePersonalBoosts } from './compile/points.ts';
import { compilePlan, compileUserPlan } from './compile.ts';
import type { CompiledPlan } from './plan.ts';

const byNo = <T extends { no: number }>(items: T[]): Map<number, T> => new Map(items.map((item) => [item.no, item]));
const byId = <T extends { id: string }>(items: T[]): Map<string, T> => new Map(items.map((item) => [item.id, item]));
const byKey = <T extends { key: string | null }>(items: T[]): Map<string, T> =>
  new Map(items.flatMap((item) => (item.key === null ? [] : [[item.key, item]])));

/** One version of a tenant's catalog with its look-ups, and the plans made from it. Never changes. */
export class CompiledCatalog {
  readonly catalog: Catalog;
  readonly userAttributes: ReadonlyMap<string, Attribute>;
  readonly eventAttributes: ReadonlyMap<string, Attribute>;
  readonly attributesById: ReadonlyMap<string, Attribute>;
  readonly attributesByNo: ReadonlyMap<number, Attribute>;
  readonly metrics: ReadonlyMap<string, Metric>;
  readonly metricsById: ReadonlyMap<string, Metric>;
  readonly metricsByNo: ReadonlyMap<number, Metric>;
  readonly achievements: ReadonlyMap<string, Achievement>;
  readonly achievementsById: ReadonlyMap<string, Achievement>;
  readonly achievementsByNo: ReadonlyMap<number, Achievement>;
  readonly pointsSystems: ReadonlyMap<string, PointsSystem>;
  readonly pointsSystemsById: ReadonlyMap<string, PointsSystem>;
  readonly pointsSystemsByNo: ReadonlyMap<number, PointsSystem>;
  readonly triggersByNo: ReadonlyMap<number, PointsTrigger>;
  readonly boostsByNo: ReadonlyMap<number, PointsBoost>;
  readonly leaderboards: ReadonlyMap<string, Leaderboard>;
  readonly leaderboardsByNo: ReadonlyMap<number, Leaderboard>;
  /** Levels of a points system (by its ID), lowest first. */
  readonly levels: ReadonlyMap<string, PointsLevel[]>;
  /** JSON for the script of the boosts that are for one user only, by user ID. */
  readonly personalBoosts: ReadonlyMap<string, string>;
  private readonly plans = new Map<string, CompiledPlan>();
  private planOfUsers: CompiledPlan | null = null;
  private plansDay = -1;

  constructor(catalog: Catalog) {
    this.catalog = catalog;
    this.userAttributes = byKey(catalog.attributes.filter((attribute) => attribute.type === 'user'));
    this.eventAttributes = byKey(catalog.attributes.filter((attribute) => attribute.type === 'event'));
    this.attributesById = byId(catalog.attributes);
    this.attributesByNo = byNo(catalog.attributes);
    this.metrics = byKey(catalog.metrics);
    this.metricsById = byId(catalog.metrics);
    this.metricsByNo = byNo(catalog.metrics);
    this.achievements = byKey(catalog.achievements);
    this.achievementsById = byId(catalog.achievements);
    this.achievementsByNo = byNo(catalog.achievements);
    this.pointsSystems = byKey(catalog.pointsSystems);
    this.pointsSystemsById = byId(catalog.pointsSystems);
    this.pointsSystemsByNo = byNo(catalog.pointsSystems);
    this.triggersByNo = byNo(catalog.triggers);
    this.boostsByNo = byNo(catalog.boosts);
    this.leaderboards = byKey(catalog.leaderboards);
    this.leaderboardsByNo = byNo(catalog.leaderboards);
    const levels = new Map<string, PointsLevel[]>();
    for (const level of catalog.levels.toSorted((a, b) => a.points - b.points)) {
      levels.set(level.systemId, [...(levels.get(level.systemId) ?? []), level]);
    }
    this.levels = levels;
    this.personalBoosts = compilePersonalBoosts(this);
  }

  /** The level of a points total: the highest whose points are at most the total; null below the first. */
  levelOf(systemId: string, total: number): PointsLevel | null {
    return this.levels.get(systemId)?.findLast((level) => level.points <= total) ?? null;
  }

  /** The plan for events of a metric on a UTC day; null for an unknown metric. Compiled once a day. */
  plan(metricKey: string, utcDay: number): CompiledPlan | null {
    this.turnTo(utcDay);
    const known = this.plans.get(metricKey);
    if (known !== undefined) return known;
    const metric = this.metrics.get(metricKey);
    if (metric === undefined) return null;
    const plan = compilePlan(this, metric, utcDay);
    this.plans.set(metricKey, plan);
    return plan;
  }

  /** The plan for calls about a user that are no event, on a UTC day. Compiled once a day. */
  userPlan(utcDay: number): CompiledPlan {
    this.turnTo(utcDay);
    this.planOfUsers ??= compileUserPlan(this, utcDay);
    return this.planOfUsers;
  }

  private turnTo(utcDay: number): void {
    if (utcDay === this.plansDay) return;
    this.plans.clear();
    this.planOfUsers = null;
    this.plansDay = utcDay;
  }
}

/** Builds the look-ups of a catalog. */
export const compileCatalog = (catalog: Catalog): CompiledCatalog => new CompiledCatalog(catalog);
