import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import type { BoardStatus, LeaderboardRanking } from '../../../domain/leaderboard.ts';
import { epochDay } from '../../../domain/periods.ts';
import { boardStatus, finalMs, playedRule, runOf } from '../../../domain/runs.ts';
import type { BoardPlace } from '../../../domain/notifications/notification.ts';
import { LiveStandings } from '../../leaderboards/live-standings.ts';
import { memberPage, ranked, type RankedMember, type Standings } from '../../leaderboards/standings.ts';
import { shownRankings } from '../../leaderboards/shown-rankings.ts';
import { whileWhole } from '../../persist/cursor-wait.ts';
import { boardPayload } from '../payloads.ts';

/** Places that are read of a board: all if the board has a maximum, else the best ones. */
export const MOST_PLACES = 1_000;

export interface BoardInPlay {
  board: Leaderboard;
  status: BoardStatus;
}

export function createBoardRankings(redis: Redis) {
  /** Returns what `read` reads. Throws RedisNotReady if the shard was not open throughout. */
  function whole<T>(client: Pool | PoolClient, tenantNo: number, read: () => Promise<T>): Promise<T> {
    return whileWhole(client, { redis: redis, tenantNo }, read);
  }

  /** The board of a run that may still move; `null` if the board is inactive or deleted, or the run is final. */
  function inPlay(compiled: CompiledCatalog, { boardNo, runDay }: BoardPlace, nowMs: number): BoardInPlay | null {
    const board = compiled.leaderboardsByNo.get(boardNo);
    const status = board === undefined ? null : boardStatus(board, epochDay(nowMs));
    const run = board === undefined ? null : runOf(playedRule(board), runDay);
    if (board === undefined || status === null || run?.startDay !== runDay) return null;
    return run.endDay !== null && finalMs(run.endDay) <= nowMs ? null : { board, status };
  }

  function readStandings({ board }: Pick<BoardInPlay, 'board'>, { tenantNo, runDay, group }: Place): Standings {
    return new LiveStandings(redis, { tenantNo, boardNo: board.no, runDay, group }, board);
  }

  /** The members of the board, best first, at most `MOST_PLACES`. */
  async function readPlaces(standings: Standings, limit = MOST_PLACES): Promise<RankedMember[]> {
    const { from, members } = await memberPage(standings, { offset: 0, limit });
    return ranked(standings, members, { from, before: undefined });
  }

  /** Members as the payloads show them. */
  async function readRankings(
    at: { tenantNo: number; board: Leaderboard; runDay: number },
    places: readonly RankedMember[],
  ): Promise<LeaderboardRanking[]> {
    return shownRankings(redis, at, places);
  }

  /** Payload of `leaderboard.changed`; `null` if the board is inactive. Throws RedisNotReady. */
  async function changed(
    client: Pool | PoolClient,
    compiled: CompiledCatalog,
    place: BoardPlace,
    nowMs: number,
  ): Promise<string | null> {
    const active = inPlay(compiled, place, nowMs);
    if (active === null) return null;
    const { tenantNo } = compiled.catalog;
    const standings = readStandings(active, { tenantNo, ...place });
    const { board, status } = active;
    const { runDay } = place;
    const rankings = await whole(client, tenantNo, async () =>
      readRankings({ tenantNo, board, runDay }, await readPlaces(standings)),
    );
    return boardPayload('leaderboard.changed', { compiled, board, ...place }, status, rankings);
  }

  return { whole, inPlay, standings: readStandings, places: readPlaces, rankings: readRankings, changed };
}

export type BoardRankings = ReturnType<typeof createBoardRankings>;

type Place = Omit<BoardPlace, 'boardNo'> & { tenantNo: number };
