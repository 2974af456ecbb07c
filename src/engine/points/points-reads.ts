import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { PointsSystem } from '../../domain/catalog.ts';
import { summaryBounds, type PointsRange, type PointsSystemResponse } from '../../domain/points.ts';
import { AppError } from '../../errors.ts';
import { filteredPointsTotals } from '../../postgres/filtered-points-totals.ts';
import { countersKey, pointsKey } from '../../redis/keys.ts';
import { parseAttributeFilter } from './attribute-filter.ts';
import { triggerResponse } from './points-response.ts';

/** Reads of points systems. */
export class PointsReads {
  private readonly redis: Redis;
  private readonly pool: Pool;

  constructor({ redis, pool }: { redis: Redis; pool: Pool }) {
    this.redis = redis;
    this.pool = pool;
  }

  /** A points system with its active triggers. 404 for an unknown key. */
  system(compiled: CompiledCatalog, key: string): PointsSystemResponse {
    const system = this.find(compiled, key);
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
   * (live, O(log N)); with one from Postgres, which follows events after a moment. 404, 422.
   */
  async summary(compiled: CompiledCatalog, key: string, userAttributes: string | undefined): Promise<PointsRange[]> {
    const system = this.find(compiled, key);
    const filter = parseAttributeFilter(userAttributes, compiled.userAttributes);
    if (filter.length > 0) {
      const conditions = Object.fromEntries(filter.map(({ attribute, value }) => [attribute.no, value]));
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

  private find(compiled: CompiledCatalog, key: string): PointsSystem {
    const system = compiled.pointsSystems.get(key);
    if (system === undefined)
      throw new AppError('not_found', `Unknown points system: there is none with the key '${key}'.`);
    return system;
  }
}
