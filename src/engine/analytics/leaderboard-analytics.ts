import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { COUNTED, SEGMENT } from '../../domain/analytics.ts';
import type { AnalyticsLeaderboards } from '../../domain/analytics-responses.ts';
import { boardStatus } from '../../domain/runs.ts';
import { addTo } from '../../grouped.ts';
import { type AnalyticsSum, readSums } from '../../postgres/analytics.ts';
import { mappedInSlices, Slices } from '../../pacing/slices.ts';
import { comparedDays, type AnalyticsQuery, type AnalyticsOptions } from './analytics-range.ts';
import { boardFigures, placesByDay } from './figures.ts';
import { epochDay } from '../../domain/periods.ts';

/** Figures about leaderboards. */
export function createLeaderboardAnalytics(options: AnalyticsOptions) {
  const { pool, redis, clock } = options;

  /** The current run of each active leaderboard: participants, the scores at tenths of them, and how places changed. */
  async function leaderboards(
    { catalog }: CompiledCatalog,
    query: Pick<AnalyticsQuery, 'from' | 'to'>,
  ): Promise<AnalyticsLeaderboards> {
    const { tenantNo } = catalog;
    const today = epochDay(clock.now());
    const days = comparedDays(query, clock.now());
    const active = catalog.leaderboards.filter((board) => boardStatus(board, today) === 'active');
    const places = await readSums(pool, {
      tenantNo,
      segment: SEGMENT.everyone,
      kinds: [COUNTED.placesChanged, COUNTED.placesJoined],
      fromDay: days.fromBefore,
      toDay: days.toDay,
    });
    const byBoard = new Map<number, AnalyticsSum[]>();
    const slices = new Slices();
    for (const sum of places) {
      addTo(byBoard, sum.subject, sum);
      if (slices.over) await slices.turn();
    }
    const figures = await Promise.all(
      active.map(async (board) => ({ board, shown: await boardFigures(redis, tenantNo, board, today) })),
    );
    const leaderboards = await mappedInSlices(figures, ({ board, shown }) => ({
      ...shown,
      ...placesByDay(days, byBoard.get(board.no) ?? []),
    }));
    return { ...days.dates, leaderboards };
  }

  return { leaderboards };
}
