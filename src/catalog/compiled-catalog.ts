import type { Pool } from 'pg';
import type { Catalog, PointsBoost } from '../domain/catalog.ts';
import { deletedResources, loadCatalog } from '../postgres/catalog.ts';
import { CatalogIndex } from './catalog-index.ts';
import { compilePlan } from './compile/plans.ts';
import { compileOwnBoosts } from './compile/points.ts';
import { compileStreak } from './compile/streak.ts';
import type { CompiledPlan, PlanStreak } from '../rules/plan.ts';
import type { OwnBoosts } from '../rules/points.ts';
import { boostsOfUsers } from './lookups.ts';
import { writersIn } from './rules/references.ts';

/** One version of a tenant's catalog with lookups and compiled plans. Never changes. `onNextDay`: called once when a later day begins. */
export class CompiledCatalog extends CatalogIndex {
  /** The rule of streaks, as in each plan. */
  readonly streakRule: PlanStreak;
  /** Numbers of the user attributes that application keys may not change. */
  readonly serverAttributes: ReadonlySet<number>;
  private readonly plans = new Map<string, CompiledPlan>();
  private readonly boostsOfUsers: ReadonlyMap<string, readonly PointsBoost[]>;
  /** As JSON, by user: compiled for the user's first event. */
  private readonly compiledBoosts = new Map<string, string>();
  private planOfUsers: CompiledPlan | null = null;
  private plansDay = -1;
  private newestDay = -1;
  private readonly onNextDay: () => void;

  constructor(catalog: Catalog, onNextDay: () => void = () => undefined) {
    super(catalog);
    this.onNextDay = onNextDay;
    this.streakRule = compileStreak(this);
    this.boostsOfUsers = boostsOfUsers(catalog.boosts);
    const writableBy = writersIn(catalog);
    const ofServers = [...this.userAttributes.values()].filter((attribute) => writableBy(attribute) === 'server');
    this.serverAttributes = new Set(ofServers.map(({ no }) => no));
  }

  /** The plan for events of a metric on a UTC day; `null` for an unknown metric. Compiled once per day. */
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

  /** The plan for calls that are not events, on a UTC day. Compiled once per day. */
  userPlan(utcDay: number): CompiledPlan {
    this.turnTo(utcDay);
    this.planOfUsers ??= compilePlan(this, null, utcDay);
    return this.planOfUsers;
  }

  /** A user's own boosts; `null` for none. */
  ownBoosts(userId: string): OwnBoosts | null {
    const boosts = this.boostsOfUsers.get(userId);
    if (boosts === undefined) return null;
    let compiled = this.compiledBoosts.get(userId);
    if (compiled === undefined)
      this.compiledBoosts.set(userId, (compiled = JSON.stringify(compileOwnBoosts(this, boosts))));
    return JSON.parse(compiled) as OwnBoosts;
  }

  private turnTo(utcDay: number): void {
    if (utcDay === this.plansDay) return;
    this.plans.clear();
    this.planOfUsers = null;
    this.plansDay = utcDay;
    // After midnight, batches of the day before alternate with events of today.
    if (utcDay <= this.newestDay) return;
    const isFirst = this.newestDay === -1;
    this.newestDay = utcDay;
    if (!isFirst) this.onNextDay();
  }
}

export const compileCatalog = (catalog: Catalog): CompiledCatalog => new CompiledCatalog(catalog);

/** The catalog that Postgres holds now, for long work that must not use an older one; `null` if the tenant does not exist. */
export async function loadCompiled(pool: Pool, tenantNo: number): Promise<CompiledCatalog | null> {
  const catalog = await loadCatalog(pool, tenantNo);
  return catalog === null ? null : compileCatalog(catalog);
}

/**
 * Adds deleted resources to a catalog, by number and in their last form, with the resources that they refer to. History uses them for names. A
 * key that was reused refers to the existing resource. Queries Postgres only if a number belongs to a deleted resource.
 */
export async function withDeleted(
  pool: Pool,
  compiled: CompiledCatalog,
  nos: Iterable<number>,
): Promise<CompiledCatalog> {
  const gone = [...new Set(nos)].filter((no) => !lives(compiled, no));
  if (gone.length === 0) return compiled;
  const { catalog } = compiled;
  const deleted = await deletedResources(pool, catalog.tenantNo, gone);
  return compileCatalog({
    ...catalog,
    metrics: [...deleted.metrics, ...catalog.metrics],
    achievements: [...deleted.achievements, ...catalog.achievements],
    pointsSystems: [...deleted.pointsSystems, ...catalog.pointsSystems],
    triggers: [...deleted.triggers, ...catalog.triggers],
    boosts: [...deleted.boosts, ...catalog.boosts],
    rewards: [...deleted.rewards, ...catalog.rewards],
  });
}

/** Whether a number belongs to an existing resource. Numbers are unique within a tenant, across all kinds. */
const lives = (compiled: CompiledCatalog, no: number): boolean =>
  compiled.metricsByNo.has(no) ||
  compiled.achievementsByNo.has(no) ||
  compiled.pointsSystemsByNo.has(no) ||
  compiled.triggersByNo.has(no) ||
  compiled.boostsByNo.has(no) ||
  compiled.rewardsByNo.has(no);
