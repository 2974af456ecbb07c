import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { DAY_MS } from '../../domain/periods.ts';
import {
  summaryBounds,
  type PointsBoostResponse,
  type PointsLevelResponse,
  type PointsLevelSummaryResponse,
  type PointsRange,
  type PointsSystemResponse,
} from '../../domain/points.ts';
import { AppError } from '../../errors.ts';
import { filteredPointsTotals } from '../../postgres/filtered-points-totals.ts';
import { countersKey, pointsKey } from '../../redis/keys.ts';
import type { CaughtUp } from '../persist/caught-up.ts';
import { parseAttributeFilter } from './attribute-filter.ts';
import { findSystem } from './find-system.ts';
import { boostResponse, levelResponse, triggerResponse } from './points-response.ts';

/** Reads of points systems. */
export class PointsReads {
  private readonly redis: Redis;
  private readonly pool: Pool;
  private readonly clock: Clock;
  private readonly caughtUp: Pick<CaughtUp, 'tenant'> | null;

  constructor({
    redis,
    pool,
    clock,
    caughtUp = null,
  }: {
    redis: Redis;
    pool: Pool;
    clock: Clock;
    caughtUp?: Pick<CaughtUp, 'tenant'> | null;
  }) {
    this.redis = redis;
    this.pool = pool;
    this.clock = clock;
    this.caughtUp = caughtUp;
  }

  /** A points system with its active triggers. 404 for an unknown key. */
  system(compiled: CompiledCatalog, key: string): PointsSystemResponse {
    const system = findSystem(compiled, key);
    return {
      id: system.id,
      name: system.name,
      description: system.description,
      badgeUrl: system.badgeUrl,
      maxPoints: system.maxPoints,
      triggers: compiled.catalog.triggers
        .filter((trigger) => trigger.systemId === system.id && trigger.status === 'active')
        .map((trigger) => triggerResponse(compiled, trigger)),
    };
  }

  /**
   * How many users hold how many points, in 11 ranges. Without a filter from the sorted set of the system
   * (live, O(log N)); with one from Postgres, once that holds what was answered before. 404, 422.
   */
  async summary(compiled: CompiledCatalog, key: string, userAttributes: string | undefined): Promise<PointsRange[]> {
    const system = findSystem(compiled, key);
    const filter = parseAttributeFilter(userAttributes, compiled.userAttributes);
    if (filter.length > 0) {
      const conditions = Object.fromEntries(filter.map(({ attribute, value }) => [attribute.no, value]));
      await this.caughtUp?.tenant(compiled.catalog.tenantNo);
      const totals = await filteredPointsTotals(this.pool, {
        tenantNo: compiled.catalog.tenantNo,
        systemNo: system.no,
        attributes: conditions,
      });
      const greatest = totals.at(-1)?.total ?? 0;
      return summaryBounds(greatest).map(({ from, to }) => ({
        from,
        to,
        users: totals.reduce((sum, { total, users }) => (total >= from && total <= to ? sum + users : sum), 0),
      }));
    }
    return this.liveSummary(compiled.catalog.tenantNo, system.no);
  }

  private async liveSummary(tenantNo: number, systemNo: number): Promise<PointsRange[]> {
    const set = pointsKey(tenantNo, systemNo);
    const [, greatest] = await this.redis.zrevrange(set, 0, 0, 'WITHSCORES');
    const bounds = summaryBounds(Number(greatest ?? 0));
    const counts = this.redis.pipeline();
    counts.hget(countersKey(tenantNo), 'users');
    counts.zcard(set);
    for (const { from, to } of bounds.slice(1)) counts.zcount(set, from, to);
    const replies = (await counts.exec()) ?? [];
    const [users, holders, ...ranges] = replies.map(([error, reply]) => {
      if (error) throw error;
      return Number(reply ?? 0);
    });
    return bounds.map((range, index) => ({
      ...range,
      users: index === 0 ? users! - holders! : ranges[index - 1]!,
    }));
  }

  /** The levels of a points system, lowest first. 404 for an unknown key. */
  levels(compiled: CompiledCatalog, key: string): PointsLevelResponse[] {
    const system = findSystem(compiled, key);
    return (compiled.levels.get(system.id) ?? []).map(levelResponse);
  }

  /**
   * How many users are on each level, lowest first; those below the first level are on none. Live; O(log N) a level.
   * Of 1,000,000 users on 10 levels: 0.1 ms (median). 404 for an unknown key, 422 without levels.
   */
  async levelSummary(compiled: CompiledCatalog, key: string): Promise<PointsLevelSummaryResponse> {
    const system = findSystem(compiled, key);
    const levels = compiled.levels.get(system.id) ?? [];
    if (levels.length === 0) throw new AppError('unprocessable', `The points system '${key}' has no levels.`);
    const { tenantNo } = compiled.catalog;
    const set = pointsKey(tenantNo, system.no);
    const counts = this.redis.pipeline();
    counts.hget(countersKey(tenantNo), 'users');
    counts.zcard(set);
    levels.forEach(({ points }, index) => {
      const next = levels[index + 1];
      counts.zcount(set, points, next === undefined ? '+inf' : `(${next.points}`);
    });
    const [users, holders, ...onLevel] = ((await counts.exec()) ?? []).map(([error, reply]) => {
      if (error) throw error;
      return Number(reply ?? 0);
    });
    // The set holds no totals of 0: a level that begins there has those users besides.
    const withoutPoints = users! - holders!;
    const ofNone = levels.findLastIndex(({ points }) => points <= 0);
    return levels.map((level, index) => ({
      level: levelResponse(level),
      users: onLevel[index]! + (index === ofNone ? withoutPoints : 0),
    }));
  }

  /**
   * The boosts of a points system but for those of single users, oldest first, with their status on the UTC date;
   * finished ones if asked for. 404 for an unknown key.
   */
  boosts(compiled: CompiledCatalog, key: string, includeFinished: boolean): PointsBoostResponse[] {
    const system = findSystem(compiled, key);
    const day = Math.floor(this.clock.now() / DAY_MS);
    return compiled.catalog.boosts
      .filter((boost) => boost.systemId === system.id && boost.userId === null)
      .map((boost) => boostResponse(boost, day))
      .filter(({ status }) => includeFinished || status !== 'finished');
  }
}
