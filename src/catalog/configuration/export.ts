import type { Achievement, Catalog } from '../../domain/catalog.ts';
import type { StreakSettings } from '../../domain/fields/tenant-settings.ts';
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
  ConfiguredReward,
  ConfiguredStreaks,
  ConfiguredTrigger,
} from '../../domain/configuration.ts';
import { documentNames } from '../../domain/fields/document.ts';
import type { Field } from '../../domain/fields/field.ts';
import { FIELDS } from '../../domain/fields/kinds.ts';
import { storedName } from '../../domain/fields/wire.ts';
import type { AttributeCondition } from '../../domain/schemas.ts';
import { byId, once } from '../lookups.ts';
import type { DocumentKind } from '../resource-fields.ts';
import { unkeyedNamesIn } from '../rules/references.ts';
import { groupedBy } from '../../grouped.ts';
import { Slices } from '../../pacing/slices.ts';

const bySystem = <T extends { systemId: string }>(parts: readonly T[]): Map<string, T[]> =>
  groupedBy(parts, ({ systemId }) => systemId);

interface ItemOf {
  attribute: ConfiguredAttribute;
  metric: ConfiguredMetric;
  achievement: ConfiguredAchievement;
  points_system: ConfiguredPointsSystem;
  points_level: ConfiguredLevel;
  points_trigger: ConfiguredTrigger;
  points_boost: ConfiguredBoost;
  leaderboard: ConfiguredLeaderboard;
  reward: ConfiguredReward;
}

const placesIn = once(
  (list: readonly Achievement[]): ReadonlyMap<string, number> => new Map(list.map(({ id }, place) => [id, place])),
);

/** Whether the document omits a value. If it omitted a `null` whose field has another default, that default would apply. */
const isOmitted = (value: unknown, { default: byDefault }: Field): boolean =>
  value === null
    ? byDefault === null || byDefault === undefined
    : (value === false && byDefault !== true) || (Array.isArray(value) && value.length === 0);

/**
 * Exports a catalog as a document, except the resources `without`. Applying it to the same catalog changes nothing. Runs in slices.
 */
export const exportConfiguration = (
  catalog: Catalog,
  without?: ReadonlySet<string>,
): Promise<Required<Configuration>> => new Export(catalog).document(without);

export class Export {
  private readonly catalog: Catalog;
  /** Number of achievements without a key, by name. */
  private readonly unkeyed: ReadonlyMap<string, number>;

  constructor(catalog: Catalog) {
    this.catalog = catalog;
    this.unkeyed = unkeyedNamesIn(catalog.achievements);
  }

  async document(without: ReadonlySet<string> = new Set()): Promise<Required<Configuration>> {
    const { attributes, metrics, achievements, pointsSystems, leaderboards, rewards, streaks, events, messages } =
      this.catalog;
    const some = <T extends { id: string }>(all: readonly T[]): T[] => all.filter(({ id }) => !without.has(id));
    const levels = bySystem(some(this.catalog.levels));
    const triggers = bySystem(some(this.catalog.triggers));
    const boosts = bySystem(some(this.catalog.boosts));
    const slices = new Slices();
    const all = async <K extends DocumentKind>(kind: K, resources: readonly object[] = []): Promise<ItemOf[K][]> => {
      const items: ItemOf[K][] = [];
      for (const one of resources) {
        items.push(this.describe(kind, one));
        if (slices.over) await slices.turn();
      }
      return items;
    };
    const systems: ConfiguredPointsSystem[] = [];
    for (const system of some(pointsSystems))
      systems.push({
        ...this.describe('points_system', system),
        levels: await all('points_level', levels.get(system.id)),
        triggers: await all('points_trigger', triggers.get(system.id)),
        boosts: await all('points_boost', boosts.get(system.id)),
      });
    return {
      attributes: await all('attribute', some(attributes)),
      metrics: await all('metric', some(metrics)),
      achievements: await all('achievement', some(achievements)),
      pointsSystems: systems,
      leaderboards: await all('leaderboard', some(leaderboards)),
      rewards: await all('reward', some(rewards)),
      streaks: this.streaks(streaks),
      events,
      messages,
    };
  }

  describe<K extends DocumentKind>(kind: K, resource: object): ItemOf[K] {
    const item: Record<string, unknown> = {};
    if (kind === 'achievement' && this.isShared(resource as Achievement)) item.id = (resource as Achievement).id;
    for (const [name, one] of Object.entries(FIELDS[kind])) {
      const value = (resource as Record<string, unknown>)[storedName(name, one)];
      if (value === undefined || isOmitted(value, one)) continue;
      if (one.refersTo === 'achievement') Object.assign(item, this.achievements(name, one, value as string | string[]));
      else item[documentNames(name, one)[0]!] = this.valueOf(one, value);
    }
    return item as unknown as ItemOf[K];
  }

  streaks(settings: StreakSettings): ConfiguredStreaks {
    const metrics = settings.metrics.map(({ metricId, threshold }) => ({ metricKey: this.keyOf(metricId), threshold }));
    return { ...settings, metrics };
  }

  private valueOf({ stored, conditionsOn, refersTo }: Field, value: unknown): unknown {
    if (stored === 'badgeUrl') return { url: value };
    if (conditionsOn !== undefined) return this.conditions(value as AttributeCondition[]);
    if (refersTo === undefined) return value;
    return Array.isArray(value) ? value.map((id: string) => this.keyOf(id)) : this.keyOf(value as string);
  }

  /** References to achievements: by key, name or ID. Those that do not exist are left out. */
  private achievements(name: string, one: Field, ids: string | string[]): Record<string, string | string[]> {
    const places = new Set([ids].flat().flatMap((id) => placesIn(this.catalog.achievements).get(id) ?? []));
    const parts = [...places].sort((a, b) => a - b).map((place) => this.catalog.achievements[place]!);
    const named = [
      parts.flatMap(({ key }) => (key === null ? [] : [key])),
      parts.flatMap((part) => (part.key === null && !this.isShared(part) ? [part.name] : [])),
      parts.flatMap((part) => (this.isShared(part) ? [part.id] : [])),
    ];
    return Object.fromEntries(
      documentNames(name, one).flatMap((its, index) => {
        const values = named[index]!;
        return values.length === 0 ? [] : [[its, Array.isArray(ids) ? values : values[0]!]];
      }),
    );
  }

  private isShared({ key, name }: Achievement): boolean {
    return key === null && (this.unkeyed.get(name) ?? 0) > 1;
  }

  private conditions(conditions: AttributeCondition[]): ConfiguredCondition[] {
    return conditions.map(({ attributeId, attributeValue }) => ({
      key: this.keyOf(attributeId),
      value: attributeValue,
    }));
  }

  /** Exports a dangling ID unchanged. Applying the document then reports it as unknown. */
  private keyOf(id: string): string {
    const { attributes, metrics, achievements, pointsSystems, leaderboards } = this.catalog;
    for (const list of [attributes, metrics, achievements, pointsSystems, leaderboards]) {
      const resource = byId<{ id: string; key: string | null }>(list).get(id);
      if (resource !== undefined) return resource.key ?? id;
    }
    return id;
  }
}
