import {
  emptyCatalog,
  type Achievement,
  type Attribute,
  type Catalog,
  type Leaderboard,
  type Metric,
  type PointsBoost,
  type PointsLevel,
  type PointsSystem,
  type PointsTrigger,
  type Webhook,
} from '../../src/domain/catalog.ts';
import type { StreakSettings } from '../../src/domain/fields/tenant-settings.ts';

/** Builds catalogs for tests: each call adds one resource, with defaults for what a test does not care about. */
export class CatalogBuilder {
  readonly catalog: Catalog;
  private nextNo = 1;

  constructor(tenantNo = 0) {
    this.catalog = emptyCatalog(tenantNo, 1);
  }

  private stored(): { id: string; no: number; created: number; updated: number } {
    const no = this.nextNo++;
    const id = `00000000-0000-7000-8000-${no.toString(16).padStart(12, '0')}`;
    return { id, no, created: Date.UTC(2026, 0, 1), updated: Date.UTC(2026, 0, 1) };
  }

  attribute(key: string, type: Attribute['type']): Attribute {
    const attribute = { ...this.stored(), key, name: key, type, writableBy: null };
    this.catalog.attributes = [...this.catalog.attributes, attribute];
    return attribute;
  }

  metric(key: string, guards: Metric['guards'] = null): Metric {
    const metric: Metric = {
      ...this.stored(),
      key,
      name: `Metric ${key}`,
      description: null,
      onOverview: null,
      unitType: 'number',
      units: '',
      guards,
    };
    this.catalog.metrics = [...this.catalog.metrics, metric];
    return metric;
  }

  achievement(trigger: Achievement['trigger'], fields: Partial<Achievement>): Achievement {
    const achievement: Achievement = {
      ...this.stored(),
      key: null,
      name: `Achievement ${this.nextNo}`,
      description: null,
      badgeUrl: null,
      status: 'active',
      trigger,
      metricId: null,
      metricValue: null,
      repeat: null,
      startDate: null,
      endDate: null,
      secret: null,
      leaderboardId: null,
      rankFrom: null,
      rankTo: null,
      rankPercent: null,
      streakLength: null,
      anniversaryYears: null,
      achievementIds: [],
      requires: [],
      userAttributes: [],
      eventAttributes: [],
      ...fields,
    };
    this.catalog.achievements = [...this.catalog.achievements, achievement];
    return achievement;
  }

  system(key: string, fields: Partial<PointsSystem> = {}): PointsSystem {
    const system = {
      ...this.stored(),
      key,
      name: key,
      description: null,
      badgeUrl: null,
      maxPoints: null,
      spendableByUsers: null,
      expiresAfterDays: null,
      ...fields,
    };
    this.catalog.pointsSystems = [...this.catalog.pointsSystems, system];
    return system;
  }

  level(system: PointsSystem, key: string, points: number): PointsLevel {
    const level = {
      ...this.stored(),
      systemId: system.id,
      key,
      name: key,
      description: '',
      badgeUrl: null,
      points,
    };
    this.catalog.levels = [...this.catalog.levels, level];
    return level;
  }

  trigger(system: PointsSystem, type: PointsTrigger['type'], fields: Partial<PointsTrigger>): PointsTrigger {
    const trigger: PointsTrigger = {
      ...this.stored(),
      systemId: system.id,
      type,
      points: 1,
      status: 'active',
      activated: Date.UTC(2026, 0, 1),
      metricId: null,
      metricThreshold: null,
      achievementId: null,
      streakLength: null,
      timeUnit: null,
      timeInterval: null,
      pointsSystemId: null,
      levelKey: null,
      leaderboardId: null,
      rankFrom: null,
      rankTo: null,
      rankPercent: null,
      blockIfOutOfPoints: false,
      userAttributes: [],
      eventAttributes: [],
      ...fields,
    };
    this.catalog.triggers = [...this.catalog.triggers, trigger];
    return trigger;
  }

  boost(system: PointsSystem, fields: Partial<PointsBoost>): PointsBoost {
    const boost: PointsBoost = {
      ...this.stored(),
      systemId: system.id,
      name: 'Boost',
      userId: null,
      start: '2026-01-01',
      end: null,
      multiplier: 2,
      rounding: 'down',
      userAttributes: [],
      ...fields,
    };
    this.catalog.boosts = [...this.catalog.boosts, boost];
    return boost;
  }

  leaderboard(key: string, rankBy: Leaderboard['rankBy'], fields: Partial<Leaderboard>): Leaderboard {
    const board: Leaderboard = {
      ...this.stored(),
      key,
      name: key,
      description: null,
      status: 'active',
      rankBy,
      aggregate: null,
      order: null,
      ties: null,
      metricId: null,
      pointsSystemId: null,
      maxParticipants: 1000,
      start: '2026-01-01',
      end: null,
      startTime: null,
      endTime: null,
      breakdownAttributes: [],
      runUnit: null,
      runInterval: null,
      secondaryAttributeId: null,
      secondaryOrder: null,
      teamAttributeId: null,
      teamsBy: null,
      teamMinMembers: null,
      keepsMetadata: null,
      leagues: null,
      ...fields,
    };
    this.catalog.leaderboards = [...this.catalog.leaderboards, board];
    return board;
  }

  webhook(events: Webhook['events'], fields: Partial<Webhook> = {}): Webhook {
    const webhook: Webhook = {
      ...this.stored(),
      name: 'Webhook',
      url: 'https://example.test/',
      events,
      enabled: true,
      secretNo: 1,
      header: null,
      filter: null,
      ...fields,
    };
    this.catalog.webhooks = [...this.catalog.webhooks, webhook];
    return webhook;
  }

  streaks(fields: Partial<StreakSettings>): void {
    this.catalog.streaks = { ...this.catalog.streaks, ...fields };
  }
}
