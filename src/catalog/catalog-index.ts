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
  Reward,
} from '../domain/catalog.ts';
import { byId, byKey, byNo, levelsOfSystems, once } from './lookups.ts';

const userAttributesIn = once((list: readonly Attribute[]) => byKey(list.filter(({ type }) => type === 'user')));
const eventAttributesIn = once((list: readonly Attribute[]) => byKey(list.filter(({ type }) => type === 'event')));

export class CatalogIndex {
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
  readonly rewards: ReadonlyMap<string, Reward>;
  readonly rewardsByNo: ReadonlyMap<number, Reward>;
  /** Levels by ID of the points system, lowest first. */
  readonly levels: ReadonlyMap<string, PointsLevel[]>;

  constructor(catalog: Catalog) {
    this.catalog = catalog;
    this.userAttributes = userAttributesIn(catalog.attributes);
    this.eventAttributes = eventAttributesIn(catalog.attributes);
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
    this.rewards = byKey(catalog.rewards);
    this.rewardsByNo = byNo(catalog.rewards);
    this.levels = levelsOfSystems(catalog.levels);
  }

  /** The level of a total: the highest level whose points do not exceed it; `null` below the first. */
  levelOf(systemId: string, total: number): PointsLevel | null {
    return this.levels.get(systemId)?.findLast((level) => level.points <= total) ?? null;
  }
}
