import type {
  Achievement,
  Attribute,
  AttributeCondition,
  Catalog,
  Leaderboard,
  Metric,
  PointsBoost,
  PointsLevel,
  PointsSystem,
  PointsTrigger,
  StreakSettings,
} from '../../domain/catalog.ts';
import type {
  Configuration,
  ConfiguredAchievement,
  ConfiguredAttribute,
  ConfiguredBoost,
  ConfiguredCondition,
  ConfiguredLeaderboard,
  ConfiguredLevel,
  ConfiguredMetric,
  ConfiguredPointsSystem,
  ConfiguredStreaks,
  ConfiguredTrigger,
} from '../../domain/configuration.ts';
import type { DocumentKind, Resource, ResourceOf } from '../resource-fields.ts';
import { present } from '../present.ts';
import { unkeyedNamesIn } from '../rules/lookups.ts';

/** Groups parts by the ID of their points system. */
function bySystem<T extends { systemId: string }>(parts: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const part of parts) {
    const others = found.get(part.systemId);
    if (others === undefined) found.set(part.systemId, [part]);
    else others.push(part);
  }
  return found;
}

const badge = (url: string | null): { url: string } | undefined => (url === null ? undefined : { url });
const filled = <T>(list: T[]): T[] | undefined => (list.length === 0 ? undefined : list);

/**
 * Exports a catalog as a document. Applying it to the same catalog changes nothing.
 * @param without IDs of resources to omit
 */
export const exportConfiguration = (catalog: Catalog, without?: ReadonlySet<string>): Required<Configuration> =>
  new Export(catalog).document(without);

export class Export {
  private readonly catalog: Catalog;
  private readonly byId: Map<string, { key: string | null }>;
  private readonly achievementPlaces: Map<string, number>;
  /** Number of achievements without a key, by name. */
  private readonly unkeyed: ReadonlyMap<string, number>;

  constructor(catalog: Catalog) {
    this.catalog = catalog;
    const { attributes, metrics, achievements, pointsSystems } = catalog;
    const referred = [...attributes, ...metrics, ...achievements, ...pointsSystems];
    this.byId = new Map(referred.map((resource) => [resource.id, resource]));
    this.achievementPlaces = new Map(achievements.map(({ id }, index) => [id, index]));
    this.unkeyed = unkeyedNamesIn(achievements);
  }

  document(without: ReadonlySet<string> = new Set()): Required<Configuration> {
    const { attributes, metrics, achievements, pointsSystems, leaderboards, streaks, events } = this.catalog;
    const some = <T extends { id: string }>(all: readonly T[]): T[] => all.filter(({ id }) => !without.has(id));
    const levels = bySystem(some(this.catalog.levels));
    const triggers = bySystem(some(this.catalog.triggers));
    const boosts = bySystem(some(this.catalog.boosts));
    return {
      attributes: some(attributes).map((attribute) => this.attribute(attribute)),
      metrics: some(metrics).map((metric) => this.metric(metric)),
      achievements: some(achievements).map((achievement) => this.achievement(achievement)),
      pointsSystems: some(pointsSystems).map((system) => ({
        ...this.system(system),
        levels: (levels.get(system.id) ?? []).map((level) => this.level(level)),
        triggers: (triggers.get(system.id) ?? []).map((trigger) => this.trigger(trigger)),
        boosts: (boosts.get(system.id) ?? []).map((boost) => this.boost(boost)),
      })),
      leaderboards: some(leaderboards).map((board) => this.leaderboard(board)),
      streaks: this.streaks(streaks),
      events,
    };
  }

  /** A resource in the document's form; a points system without its parts. */
  describe(kind: DocumentKind, resource: Resource): object {
    const describers: { [X in DocumentKind]: (resource: ResourceOf[X]) => object } = {
      attribute: (one) => this.attribute(one),
      metric: (one) => this.metric(one),
      achievement: (one) => this.achievement(one),
      points_system: (one) => this.system(one),
      points_level: (one) => this.level(one),
      points_trigger: (one) => this.trigger(one),
      points_boost: (one) => this.boost(one),
      leaderboard: (one) => this.leaderboard(one),
    };
    return (describers[kind] as (of: Resource) => object)(resource);
  }

  streaks(settings: StreakSettings): ConfiguredStreaks {
    const metrics = settings.metrics.map(({ metricId, threshold }) => ({ metricKey: this.keyOf(metricId), threshold }));
    return { ...settings, metrics };
  }

  private attribute = ({ key, name, type, writableBy }: Attribute): ConfiguredAttribute =>
    present({ key, name, type, writableBy });

  private metric = ({ key, name, unitType, units, guards }: Metric): ConfiguredMetric =>
    present({ key, name, unitType, units, guards });

  private level = ({ key, name, points, description, badgeUrl }: PointsLevel): ConfiguredLevel =>
    present({ key, name, points, description, badge: badge(badgeUrl) });

  private system({ key, name, description, badgeUrl, maxPoints }: PointsSystem): ConfiguredPointsSystem {
    return present({ key, name, description, badge: badge(badgeUrl), maxPoints });
  }

  private achievement(achievement: Achievement): ConfiguredAchievement {
    const { achievements } = this.catalog;
    const places = new Set(achievement.achievementIds.flatMap((id) => this.achievementPlaces.get(id) ?? []));
    const parts = [...places].sort((a, b) => a - b).map((place) => achievements[place]!);
    return present<ConfiguredAchievement>({
      id: this.isShared(achievement) ? achievement.id : undefined,
      key: achievement.key,
      name: achievement.name,
      description: achievement.description,
      badge: badge(achievement.badgeUrl),
      status: achievement.status,
      trigger: achievement.trigger,
      metricKey: this.optionalKeyOf(achievement.metricId),
      metricValue: achievement.metricValue,
      streakLength: achievement.streakLength,
      anniversaryYears: achievement.anniversaryYears,
      achievementKeys: filled(parts.flatMap(({ key }) => (key === null ? [] : [key]))),
      achievementNames: filled(parts.flatMap((part) => (part.key === null && !this.isShared(part) ? [part.name] : []))),
      achievementIds: filled(parts.flatMap((part) => (this.isShared(part) ? [part.id] : []))),
      userAttributes: this.conditions(achievement.userAttributes),
      eventAttributes: this.conditions(achievement.eventAttributes),
    });
  }

  private trigger(trigger: PointsTrigger): ConfiguredTrigger {
    const place = this.achievementPlaces.get(trigger.achievementId ?? '');
    const achievement = place === undefined ? undefined : this.catalog.achievements[place];
    const isShared = achievement !== undefined && this.isShared(achievement);
    return present<ConfiguredTrigger>({
      type: trigger.type,
      points: trigger.points,
      status: trigger.status,
      metricKey: this.optionalKeyOf(trigger.metricId),
      metricThreshold: trigger.metricThreshold,
      achievementKey: achievement?.key,
      achievementName: achievement?.key === null && !isShared ? achievement.name : undefined,
      achievementId: isShared ? achievement?.id : undefined,
      streakLength: trigger.streakLength,
      timeUnit: trigger.timeUnit,
      timeInterval: trigger.timeInterval,
      blockIfOutOfPoints: trigger.blockIfOutOfPoints ? true : undefined,
      userAttributes: this.conditions(trigger.userAttributes),
      eventAttributes: this.conditions(trigger.eventAttributes),
    });
  }

  private boost({ name, userId, start, end, multiplier, rounding, userAttributes }: PointsBoost): ConfiguredBoost {
    const conditions = this.conditions(userAttributes);
    return present<ConfiguredBoost>({ name, userId, start, end, multiplier, rounding, userAttributes: conditions });
  }

  private leaderboard(board: Leaderboard): ConfiguredLeaderboard {
    const fields = present<ConfiguredLeaderboard>({
      key: board.key,
      name: board.name,
      description: board.description,
      status: board.status,
      rankBy: board.rankBy,
      metricKey: this.optionalKeyOf(board.metricId),
      pointsSystemKey: this.optionalKeyOf(board.pointsSystemId),
      maxParticipants: board.maxParticipants,
      start: board.start,
      end: board.end,
      startTime: board.startTime,
      endTime: board.endTime,
      breakdownAttributes: filled(board.breakdownAttributes.map((id) => this.keyOf(id))),
      runUnit: board.runUnit,
      runInterval: board.runInterval,
    });
    // If absent, the default would apply.
    return board.maxParticipants === null ? { ...fields, maxParticipants: null } : fields;
  }

  /** Whether an achievement can be identified only by its ID. */
  private isShared({ key, name }: Achievement): boolean {
    return key === null && (this.unkeyed.get(name) ?? 0) > 1;
  }

  private conditions(conditions: AttributeCondition[]): ConfiguredCondition[] | undefined {
    return filled(
      conditions.map(({ attributeId, attributeValue }) => ({ key: this.keyOf(attributeId), value: attributeValue })),
    );
  }

  /** A dangling ID is exported as it is. Applying the document then reports it as unknown. */
  private keyOf(id: string): string {
    return this.byId.get(id)?.key ?? id;
  }

  private optionalKeyOf(id: string | null): string | null {
    return id === null ? null : this.keyOf(id);
  }
}
