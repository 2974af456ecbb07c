import type { Pool } from 'pg';
import type { Days } from '../../domain/periods.ts';
import { inOwnTurn } from '../../pacing/turns.ts';
import { type SampledChanges, sampledMetricChanges, sampledPointsChanges } from '../../postgres/history/days.ts';

/**
 * Percentiles come from a sample of this many users of the tenant, chosen by a hash of their IDs. They are exact up to
 * this number of users; above it the standard error is √(p(100−p)/n), at most 1.6 percentage points. The sample bounds
 * a distribution's cost regardless of the number of events.
 */
export const SAMPLE_USERS = 1000;

/** How long a distribution is reused, by its cost: 80 ms after 2 ms, 18 s after 30 ms. */
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
  /** In the time of `performance.now()`; infinite while the distribution is being computed. */
  until: number;
}

/** The distribution of users' changes over some days, for each tenant. Cached for a while because it is expensive. */
export class Distributions {
  private readonly pool: Pool;
  private readonly kept = new Map<string, Kept>();

  constructor({ pool }: { pool: Pool }) {
    this.pool = pool;
  }

  /** Percent of the tenant's users, to one decimal, with a smaller change on these days. Inactive users count as 0. */
  async percentiles(kind: Kind, days: TenantDays): Promise<(no: number, change: number) => number> {
    const { users, changes } = await inOwnTurn(this.distribution(kind, days));
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

/** How many of the ascending numbers are smaller than the value. */
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
