import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import type { Notification } from '../../../domain/notification.ts';
import { DAY_MS } from '../../../domain/periods.ts';
import { boardStatus } from '../../../domain/runs.ts';
import { finalGroups } from '../../../postgres/boards/final-runs.ts';
import { groupsOfRun } from '../../leaderboards/groups-of-run.ts';
import { KeptRuns } from '../../leaderboards/kept-runs.ts';
import { boardPayload } from '../payloads/leaderboards.ts';
import { boostPayload } from '../payloads/points.ts';
import type { Announcement } from './announced.ts';
import type { BoardRankings } from './board-rankings.ts';

/** Ranks that the end of a run shows. */
const TOP = 10;

interface AnnouncerOptions {
  pool: Pool;
  redis: Redis;
  rankings: BoardRankings;
}

/** Makes the notifications of announced starts and ends. */
export class Announcer {
  private readonly options: AnnouncerOptions;
  private readonly kept: KeptRuns;

  constructor(options: AnnouncerOptions) {
    this.options = options;
    this.kept = new KeptRuns(options.pool);
  }

  /** The notifications of an announcement: of the end of a run with a breakdown one for each group. */
  async notifications(compiled: CompiledCatalog, announcement: Announcement): Promise<Notification[]> {
    const { type, atMs, about } = announcement;
    const { tenantNo } = compiled.catalog;
    const made = (source: string, payload: string): Notification => ({
      type,
      tenantNo,
      userId: null,
      atMs,
      source,
      about,
      payload,
    });
    if ('boost' in announcement) {
      const { boost } = announcement;
      const system = compiled.pointsSystemsById.get(boost.systemId);
      if (system === undefined) return [];
      return [made(`${boost.no}:${atMs}`, boostPayload(announcement.type, { boost, system, dueMs: atMs }))];
    }
    const { board, runDay } = announcement;
    if (announcement.type === 'leaderboard.started') {
      const status = boardStatus(board, Math.floor(atMs / DAY_MS)) ?? 'scheduled';
      const at = { compiled, board, runDay, group: '' };
      return [made(`${board.no}:${runDay}`, boardPayload(announcement.type, at, { status, rankings: [] }))];
    }
    const found: Notification[] = [];
    for (const group of await this.groups(board, { tenantNo, runDay })) {
      const rankings = await this.top(board, { tenantNo, runDay, group });
      const at = { compiled, board, runDay, group };
      const payload = boardPayload(announcement.type, at, { status: 'finished', rankings });
      const place = { boardNo: board.no, runDay, group };
      found.push({ ...made(`${board.no}:${runDay}:${group}`, payload), place });
    }
    return found;
  }

  /** The groups of a run of which the end is announced one by one. */
  private async groups(
    board: Leaderboard,
    { tenantNo, runDay }: { tenantNo: number; runDay: number },
  ): Promise<string[]> {
    if (board.breakdownAttributes.length === 0) return [''];
    const run = { tenantNo, boardNo: board.no, runDay };
    const kept = await finalGroups(this.options.pool, run);
    if (kept.length > 0) return kept;
    const { pool, redis, rankings } = this.options;
    return rankings.whole(pool, tenantNo, () => groupsOfRun(redis, board, run));
  }

  /** The best of a run as it was kept; as they stand where that has not come to it yet. */
  private async top(board: Leaderboard, { tenantNo, ...place }: { tenantNo: number; runDay: number; group: string }) {
    const { pool, rankings } = this.options;
    const run = { tenantNo, boardNo: board.no, runDay: place.runDay };
    const kept = await this.kept.standings(run, place.group);
    const standings = kept ?? rankings.standings({ board }, { tenantNo, ...place });
    return rankings.whole(pool, tenantNo, async () =>
      rankings.rankings(tenantNo, await rankings.places(standings, TOP)),
    );
  }
}
