import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { COUNTED, SEGMENT, utcDay } from '../../domain/analytics.ts';
import type { AnalyticsLeaderboards } from '../../domain/analytics-responses.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { boardStatus } from '../../domain/runs.ts';
import { readSums } from '../../postgres/analytics.ts';
import { comparedDays, type AnalyticsQuery, type AnalyticsOptions } from './analytics-range.ts';
import { boardFigures, placesByDay } from './figures.ts';

/** Figures about leaderboards. */
export function createLeaderboardAnalytics(options: AnalyticsOptions) {
  const { pool, redis, clock } = options;

  /** The current run of each active leaderboard: participants, the scores at tenths of them, and how places changed. */
  async function leaderboards(
    { catalog }: CompiledCatalog,
    query: Pick<AnalyticsQuery, 'from' | 'to'>,
  ): Promise<AnalyticsLeaderboards> {
    const { tenantNo } = catalog;
    const today = utcDay(clock.now());
    const days = comparedDays(query, clock.now());
    const active = catalog.leaderboards.filter((board) => boardStatus(board, today) === 'active');
    const places = await readSums(pool, {
      tenantNo,
      segment: SEGMENT.everyone,
      kinds: [COUNTED.placesChanged, COUNTED.placesJoined],
      fromDay: days.fromBefore,
      toDay: days.toDay,
    });
    const shownBoard = async (board: Leaderboard): Promise<AnalyticsLeaderboards['leaderboards'][number]> => {
      const own = places.filter(({ subject }) => subject === board.no);
      return { ...(await boardFigures(redis, tenantNo, board, today)), ...placesByDay(days, own) };
    };
    return { ...days.dates, leaderboards: await Promise.all(active.map(shownBoard)) };
  }

  return { leaderboards };
}
