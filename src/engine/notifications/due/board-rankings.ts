import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import type { BoardStatus, LeaderboardRanking } from '../../../domain/leaderboard.ts';
import { DAY_MS } from '../../../domain/periods.ts';
import { boardStatus, finalMs, playedRule, runOf } from '../../../domain/runs.ts';
import type { BoardPlace } from '../../../domain/notifications/notification.ts';
import { LiveStandings, memberPage, ranked, type RankedMember, type Standings } from '../../leaderboards/standings.ts';
import { shownRankings } from '../../leaderboards/shown-rankings.ts';
import { whileWhole } from '../../persist/cursor-wait.ts';
import { boardPayload } from '../payloads.ts';

/** Places that are read of a board: all if the board has a maximum, else the best ones. */
export const MOST_PLACES = 1_000;

export interface BoardInPlay {
  board: Leaderboard;
  status: BoardStatus;
}

export class BoardRankings {
  private readonly redis: Redis;

  constructor(redis: Redis) {
    this.redis = redis;
  }

  /** Returns what `read` reads. Throws RedisNotReady if the shard was not open throughout. */
  whole<T>(client: Pool | PoolClient, tenantNo: number, read: () => Promise<T>): Promise<T> {
    return whileWhole(client, { redis: this.redis, tenantNo }, read);
  }

  /** The board of a run that may still move; `null` if the board is inactive or deleted, or the run is final. */
  inPlay(compiled: CompiledCatalog, { boardNo, runDay }: BoardPlace, nowMs: number): BoardInPlay | null {
    const board = compiled.leaderboardsByNo.get(boardNo);
    const status = board === undefined ? null : boardStatus(board, Math.floor(nowMs / DAY_MS));
    const run = board === undefined ? null : runOf(playedRule(board), runDay);
    if (board === undefined || status === null || run?.startDay !== runDay) return null;
    return run.endDay !== null && finalMs(run.endDay) <= nowMs ? null : { board, status };
  }

  standings({ board }: Pick<BoardInPlay, 'board'>, { tenantNo, runDay, group }: Place): Standings {
    return new LiveStandings(this.redis, { tenantNo, boardNo: board.no, runDay, group }, board);
  }

  /** The members of the board, best first, at most `MOST_PLACES`. */
  async places(standings: Standings, limit = MOST_PLACES): Promise<RankedMember[]> {
    const { from, members } = await memberPage(standings, { offset: 0, limit });
    return ranked(standings, members, { from, before: undefined });
  }

  /** Members as the payloads show them. */
  async rankings(
    at: { tenantNo: number; board: Leaderboard; runDay: number },
    places: readonly RankedMember[],
  ): Promise<LeaderboardRanking[]> {
    return shownRankings(this.redis, at, places);
  }

  /** Payload of `leaderboard.changed`; `null` if the board is inactive. Throws RedisNotReady. */
  async changed(
    client: Pool | PoolClient,
    compiled: CompiledCatalog,
    place: BoardPlace,
    nowMs: number,
  ): Promise<string | null> {
    const found = this.inPlay(compiled, place, nowMs);
    if (found === null) return null;
    const { tenantNo } = compiled.catalog;
    const standings = this.standings(found, { tenantNo, ...place });
    const { board, status } = found;
    const { runDay } = place;
    const rankings = await this.whole(client, tenantNo, async () =>
      this.rankings({ tenantNo, board, runDay }, await this.places(standings)),
    );
    return boardPayload('leaderboard.changed', { compiled, board, ...place }, { status, rankings });
  }
}

type Place = Omit<BoardPlace, 'boardNo'> & { tenantNo: number };
