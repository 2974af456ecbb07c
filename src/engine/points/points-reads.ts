import type { AttributeFilter } from '../../domain/user.ts';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { epochDay } from '../../domain/periods.ts';
import {
  summaryBounds,
  type PointsBoostResponse,
  type PointsLevelResponse,
  type PointsLevelSummaryResponse,
  type PointsRange,
  type PointsSystemResponse,
} from '../../domain/points.ts';
import { AppError } from '../../errors.ts';
import { filteredPointsTotals } from '../../postgres/history/days.ts';
import { countersKey, pointsKey } from '../../redis/keys.ts';
import { tenantParts } from '../../redis/parts.ts';
import { Script } from '../../redis/script.ts';
import { parseAttributeFilter } from '../attribute-filter.ts';
import type { CaughtUp } from '../persist/caught-up-reads.ts';
import { findSystem } from '../find-configured.ts';
import { boostResponse, levelResponse, triggerResponse } from '../responses/points.ts';

/** How often users are counted at most, while the greatest total changes meanwhile. */
const COUNT_TRIES = 5;

export class PointsReads {
  private readonly redis: Redis;
  private readonly pool: Pool;
  private readonly clock: Clock;
  private readonly script = new Script('count_points');
  /** The greatest total at the last query, by tenant and system. */
  private readonly greatest = new Map<string, number>();
  private readonly caughtUp: Pick<CaughtUp, 'tenant'> | null;

  constructor(redis: Redis, pool: Pool, clock: Clock, caughtUp: Pick<CaughtUp, 'tenant'> | null = null) {
    this.redis = redis;
    this.pool = pool;
    this.clock = clock;
    this.caughtUp = caughtUp;
  }

  system(compiled: CompiledCatalog, key: string, as: { seesSecrets?: boolean } = {}): PointsSystemResponse {
    const system = findSystem(compiled, key);
    return {
      id: system.id,
      name: system.name,
      description: system.description,
      badgeUrl: system.badgeUrl,
      maxPoints: system.maxPoints,
      triggers: compiled.catalog.triggers
        .filter((trigger) => trigger.systemId === system.id && trigger.status === 'active')
        .map((trigger) => triggerResponse(compiled, trigger, as)),
    };
  }

  /**
   * Number of users in 11 ranges of points. Without a filter, the live counts of the system's totals are used, whatever
   * the number of users; with a filter, Postgres, once it has caught up. Throws 404, 422; 403 for a filter `byClient`
   * (with an application key), because a group may be a single user.
   */
  async summary(
    compiled: CompiledCatalog,
    key: string,
    userAttributes: AttributeFilter | undefined,
    { byClient = false }: { byClient?: boolean } = {},
  ): Promise<PointsRange[]> {
    const system = findSystem(compiled, key);
    const filter = parseAttributeFilter(userAttributes, compiled.userAttributes);
    if (filter.length > 0) {
      if (byClient)
        throw new AppError(
          'forbidden',
          'userAttributes is for admin keys: with an application key the summary counts all users.',
        );
      const conditions = Object.fromEntries(filter.map(({ attribute, value }) => [attribute.no, value]));
      await this.caughtUp?.tenant(compiled.catalog.tenantNo);
      const totals = await filteredPointsTotals(this.pool, compiled.catalog.tenantNo, system.no, conditions);
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
    const key = `${tenantNo} ${systemNo}`;
    // The ranges follow from the greatest total, which rarely changes: try those of the last query first.
    let bounds = summaryBounds(this.greatest.get(key) ?? 0);
    for (let tries = 1; ; tries += 1) {
      const ranges = bounds.slice(1);
      // While the greatest total grows with each query, the last range has the users above it, too.
      if (tries === COUNT_TRIES) ranges[ranges.length - 1] = { ...ranges.at(-1)!, to: Infinity };
      const { users, holders, greatest, counts } = await this.count(tenantNo, systemNo, ranges);
      this.greatest.set(key, greatest);
      const counted = bounds;
      bounds = summaryBounds(greatest);
      if (bounds.at(-1)!.to !== counted.at(-1)!.to && tries < COUNT_TRIES) continue;
      return counted.map((range, index) => ({ ...range, users: index === 0 ? users - holders : counts[index - 1]! }));
    }
  }

  /** Number of users in total, with points, and in each range (inclusive), and the greatest total. */
  private async count(
    tenantNo: number,
    systemNo: number,
    ranges: readonly { from: number; to: number }[],
  ): Promise<{ users: number; holders: number; greatest: number; counts: number[] }> {
    const args = ranges.flatMap(({ from, to }) => [from, to]);
    const parts = (await Promise.all(
      tenantParts(this.redis, tenantNo).map((part) =>
        this.script.run(this.redis, [countersKey(part), pointsKey(part, systemNo)], args),
      ),
    )) as [users: number, holders: number, greatest: number, ...counts: number[]][];
    const sum = (at: number): number => parts.reduce((total, part) => total + part[at]!, 0);
    return {
      users: sum(0),
      holders: sum(1),
      greatest: Math.max(...parts.map(([, , greatest]) => greatest)),
      counts: ranges.map((_, index) => sum(3 + index)),
    };
  }

  /** The levels of a points system, lowest first. Throws 404 for an unknown key. */
  levels(compiled: CompiledCatalog, key: string): PointsLevelResponse[] {
    const system = findSystem(compiled, key);
    return (compiled.levels.get(system.id) ?? []).map(levelResponse);
  }

  /** Number of users on each level, lowest first. Throws 404, 422 without levels. */
  async levelSummary(compiled: CompiledCatalog, key: string): Promise<PointsLevelSummaryResponse> {
    const system = findSystem(compiled, key);
    const levels = compiled.levels.get(system.id) ?? [];
    if (levels.length === 0) throw new AppError('unprocessable', `The points system '${key}' has no levels.`);
    const ranges = levels.map(({ points }, index) => ({
      from: points,
      to: (levels[index + 1]?.points ?? Infinity) - 1,
    }));
    const { users, holders, counts } = await this.count(compiled.catalog.tenantNo, system.no, ranges);
    // Totals of 0 are not counted, so a level that starts at 0 also has those users.
    const withoutPoints = users - holders;
    const ofNone = levels.findLastIndex(({ points }) => points <= 0);
    return levels.map((level, index) => ({
      level: levelResponse(level),
      users: counts[index]! + (index === ofNone ? withoutPoints : 0),
    }));
  }

  /** Boosts of a points system for all users, oldest first, finished ones if requested. Throws 404. */
  boosts(compiled: CompiledCatalog, key: string, includeFinished: boolean): PointsBoostResponse[] {
    const system = findSystem(compiled, key);
    const day = epochDay(this.clock.now());
    return compiled.catalog.boosts
      .filter((boost) => boost.systemId === system.id && boost.userId === null)
      .map((boost) => boostResponse(boost, day))
      .filter(({ status }) => includeFinished || status !== 'finished');
  }
}
