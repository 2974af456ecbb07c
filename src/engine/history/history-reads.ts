import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { EventSummaryEntry, EventSummaryQuery } from '../../domain/event-summary.ts';
import { type DayRows, metricDays, pointsDays } from '../../postgres/history/days.ts';
import { decodeState, type UserState } from '../../packed/state.ts';
import { findMetric, findSystem } from '../find-configured.ts';
import type { UserReads } from '../users/user-reads.ts';
import type { ReadLimits } from './read-limits.ts';
import { summaryEntries } from './summary-entries.ts';
import { summaryPeriods } from './summary-periods.ts';

/** Whom and what an event-summary is about: the key is a metric's or a points system's. */
interface SummaryCall {
  userId: string;
  key: string;
  query: EventSummaryQuery;
}

/** Reads of what users did over time, from Postgres: they follow events after a moment. */
export class HistoryReads {
  private readonly pool: Pool;
  private readonly users: Pick<UserReads, 'state'>;
  private readonly limits: ReadLimits;

  constructor({ pool, users, limits }: { pool: Pool; users: Pick<UserReads, 'state'>; limits: ReadLimits }) {
    this.pool = pool;
    this.users = users;
    this.limits = limits;
  }

  /**
   * A user's total of a metric over the periods of a range, by the user's local dates. 404 for an unknown user or
   * metric, 422 for a bad range, 429 beyond the limits.
   */
  async metricSummary(compiled: CompiledCatalog, { userId, key, query }: SummaryCall): Promise<EventSummaryEntry[]> {
    const metric = findMetric(compiled, key);
    return this.summary(
      compiled,
      { userId, query },
      {
        days: (days) => metricDays(this.pool, { ...days, metricNo: metric.no }),
        total: ({ totals }) => totals[metric.no] ?? '0',
      },
    );
  }

  /** The same of a user's points in a points system. */
  async pointsSummary(compiled: CompiledCatalog, { userId, key, query }: SummaryCall): Promise<EventSummaryEntry[]> {
    const system = findSystem(compiled, key);
    return this.summary(
      compiled,
      { userId, query },
      {
        days: (days) => pointsDays(this.pool, { ...days, systemNo: system.no }),
        total: ({ points }) => String(points[system.no] ?? 0),
      },
    );
  }

  private async summary(
    { catalog }: CompiledCatalog,
    { userId, query }: Omit<SummaryCall, 'key'>,
    read: {
      days: (days: { tenantNo: number; userId: string; fromDay: number; toDay: number }) => Promise<DayRows>;
      total: (state: UserState) => string;
    },
  ): Promise<EventSummaryEntry[]> {
    const periods = summaryPeriods(query, catalog.streaks.weekStart);
    const { tenantNo } = catalog;
    await this.users.state(tenantNo, userId);
    const fromDay = periods[0]?.fromDay ?? 0;
    const toDay = periods.at(-1)?.toDay ?? fromDay;
    const rows = await this.limits.run({ tenantNo, userId }, () => read.days({ tenantNo, userId, fromDay, toDay }));
    const current = rows.state === null ? '0' : read.total(decodeState(rows.state));
    return summaryEntries(periods, { ...rows, current });
  }
}
