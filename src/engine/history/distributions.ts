import type { Pool } from 'pg';
import type { Days } from '../../domain/periods.ts';
import {
  type SampledChanges,
  sampledMetricChanges,
  sampledPointsChanges,
} from '../../postgres/history/sampled-changes.ts';

/**
 * Percentiles come from so many users of the tenant, chosen by a hash of their IDs: exact up to this number of
 * users, above it within one or two percentage points (standard error √(p(100−p)/n), at most 1.6). It bounds what a
 * distribution costs however many events there are; see README.md here for the figures.
 */
export const SAMPLE_USERS = 1000;

/**
 * How long a distribution is used again, by what it cost to make: 2 ms make 80 ms, 30 ms make 18 s, so that a small
 * tenant sees its percentiles move at once and a large one pays seldom.
 */
const keepMs = (costMs: number): number => Math.min(600_000, costMs * costMs * 20);
const MAX_KEPT = 500;

interface TenantDays extends Days {
  tenantNo: number;
}

type Kind = 'metrics' | 'points';

const READ = { metrics: sampledMetricChanges, points: sampledPointsChanges };

interface Distribution {
  users: number;
  /** Ascending. */
  changes: Map<number, Float64Array>;
}

interface Kept {
  made: Promise<Distribution>;
  /** Of `performance.now()`; infinite while it is being made. */
  until: number;
}

/** How the changes of a tenant's users in some days are distributed; kept for a while, as it is not free. */
export class Distributions {
  private readonly pool: Pool;
  private readonly kept = new Map<string, Kept>();

  constructor({ pool }: { pool: Pool }) {
    this.pool = pool;
  }

  /**
   * The percentile of a change: the share, in percent with one decimal, of the tenant's users whose change of the
   * metric or points system in these days is smaller. Users who did nothing have a change of 0.
   */
  async percentiles(kind: Kind, days: TenantDays): Promise<(no: number, change: number) => number> {
    const { users, changes } = await this.distribution(kind, days);
    return (no, change) => {
      if (users === 0) return 0;
      const sorted = changes.get(no) ?? new Float64Array(0);
      const idle = change > 0 ? users - sorted.length : 0;
      return Math.round(((countBelow(sorted, change) + idle) / users) * 1000) / 10;
    };
  }

  private distribution(kind: Kind, days: TenantDays): Promise<Distribution> {
    const key = `${kind}:${days.tenantNo}:${days.fromDay}:${days.toDay}`;
    const known = this.kept.get(key);
    if (known !== undefined && performance.now() < known.until) return known.made;
    const start = performance.now();
    const kept: Kept = { made: this.make(kind, days), until: Infinity };
    this.kept.delete(key);
    this.kept.set(key, kept);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= MAX_KEPT) break;
      this.kept.delete(oldest);
    }
    kept.made.then(
      () => {
        const now = performance.now();
        kept.until = now + keepMs(now - start);
      },
      () => {
        if (this.kept.get(key) === kept) this.kept.delete(key);
      },
    );
    return kept.made;
  }

  private async make(kind: Kind, days: TenantDays): Promise<Distribution> {
    const sampled: SampledChanges = await READ[kind](this.pool, { ...days, users: SAMPLE_USERS });
    const changes = new Map<number, Float64Array>();
    for (const [no, values] of sampled.changes) changes.set(no, Float64Array.from(values).sort());
    return { users: sampled.users, changes };
  }
}

/** How many of the ascending numbers are smaller. */
function countBelow(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
