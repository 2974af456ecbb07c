import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { boardsToTrack } from '../../src/catalog/boards-to-track.ts';
import type { Catalog, Leaderboard } from '../../src/domain/catalog.ts';
import { boardPieces } from '../../src/engine/leaderboards/board-pieces.ts';
import { createFinalRuns } from '../../src/engine/leaderboards/final-runs.ts';
import { createKeptRuns } from '../../src/engine/leaderboards/kept-runs.ts';
import { createLeaderboardReads } from '../../src/engine/leaderboards/reads/leaderboard-reads.ts';
import { createLeagueClosing } from '../../src/engine/leaderboards/league-closing.ts';
import { createRankRewards, type RankRewardsOptions } from '../../src/engine/leaderboards/rank-rewards.ts';
import { createLeagueReads } from '../../src/engine/leaderboards/reads/league-reads.ts';
import type { Publisher } from '../../src/engine/notifications/due/publisher.ts';
import type { DueWork } from '../../src/engine/schedule/due-work.ts';
import { readCursor, setStorageEpochs } from '../../src/postgres/shards.ts';
import { tenantParts } from '../../src/redis/parts.ts';
import { storageEpochOf } from '../../src/domain/shard-state.ts';
import { trackBoards } from '../../src/postgres/boards/progress.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import { latestRuns, runOf, wall, type Run } from './calendar.ts';
import type { LaurelModel } from './laurel-model.ts';
import { isRewarded } from './rank-rewards.ts';
import type { Said } from './seen.ts';
import type { ModelUser } from './user.ts';

/** The leaderboards with leagues. */
export const leagueBoards = (boards: readonly Leaderboard[]): Leaderboard[] =>
  boards.filter(({ leagues, status }) => leagues !== null && status === 'active');

/** What the worker does at the end of runs: declaring them final, rewarding ranks and closing leagues. */
export function runWorks(options: Omit<RankRewardsOptions, 'pieces' | 'graceMs'>, publisher: Publisher): DueWork[] {
  const onFailed = ({ error }: { error: unknown }): never => {
    throw error;
  };
  const pieces = boardPieces('final runs', onFailed);
  const finals = createFinalRuns({ ...options, graceMs: 0, pieces });
  const rewards = createRankRewards({ ...options, graceMs: 0, pieces });
  // As `BoardsDue`, without daily snapshots, which take a step for each zone and day.
  const boards: DueWork = {
    name: 'final runs and rewards for ranks',
    async due(upToMs) {
      const times = [await finals.due(upToMs), ...(await rewards.owing()).map(rewards.dueMs)];
      const first = Math.min(...times.map((time) => time ?? Infinity));
      return first <= upToMs ? first : null;
    },
    async perform(dueMs, ending, beforeMs) {
      await finals.perform(dueMs, ending);
      await rewards.upTo(Math.max(dueMs, beforeMs - 1), ending);
    },
  };
  return [boards, createLeagueClosing({ publisher, onFailed })];
}

/** Whether the worker has something to do at the end of a leaderboard's runs. */
const isFollowed = (catalog: Catalog, board: Leaderboard): boolean =>
  (board.leagues !== null && board.status === 'active') || isRewarded(catalog, board);

export const followedBoards = (catalog: Catalog): Leaderboard[] =>
  catalog.leaderboards.filter((board) => isFollowed(catalog, board));

/** Follows these leaderboards from now on. Their final runs are only copied from shards that are known to be complete. */
export async function trackRuns(redis: Redis, pool: Pool, { catalog, nowMs }: LaurelModel): Promise<void> {
  const { tenantNo } = catalog;
  const shards = tenantParts(redis, tenantNo).map(({ shard }) => shard);
  for (const shard of shards) await readCursor(pool, shard);
  await setStorageEpochs(pool, shards, { storageEpoch: storageEpochOf(1, 'model') });
  await transaction(pool, (client) => trackBoards(client, tenantNo, boardsToTrack(followedBoards(catalog), nowMs)));
}

/** Reads everyone's leagues on both sides. */
export class CompareLeagues {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly reads: ReturnType<typeof createLeagueReads>;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    const { redis, users, clock } = engine;
    this.engine = engine;
    this.model = model;
    const leaderboards = createLeaderboardReads({
      redis,
      users,
      clock,
      past: createKeptRuns(pool),
      reusesTeams: false,
    });
    this.reads = createLeagueReads({ redis, pool, clock, users, leaderboards });
  }

  async all(): Promise<Said[]> {
    const parts: Said[] = [];
    for (const board of leagueBoards(this.model.catalog.leaderboards))
      for (const user of this.model.users.values())
        for (const run of this.runs(board, user)) parts.push(await this.one(board, user, run));
    return parts;
  }

  /** The user's run and the one before. */
  private runs(board: Leaderboard, user: ModelUser): Run[] {
    const { date } = wall(this.model.nowMs, user.tz);
    return runOf(board, date) === null ? [] : latestRuns(board, date);
  }

  private async one(board: Leaderboard, user: ModelUser, run: Run): Promise<Said> {
    const model = this.model.leagues!.shown(board, run, user.id);
    if (model === null) return { engine: null, model };
    const query = { key: board.key, run: run.start };
    const {
      tier,
      rank,
      secondaryScore = null,
      move,
      cohort,
      ...read
    } = await this.reads.ofUser(this.engine.compiled(), user.id, query);
    const rankings =
      cohort?.rankings.map(({ userId, rank: at, value, secondaryScore: secondary = null, move: moves }) => ({
        userId,
        rank: at,
        value,
        secondary,
        move: moves,
      })) ?? null;
    const what = { board: board.key, run: run.start, user: user.id };
    const inOrder = <P extends { rank: number; userId: string }>(places: P[] | null): P[] | null =>
      places?.toSorted((a, b) => a.rank - b.rank || (a.userId < b.userId ? -1 : 1)) ?? null;
    return {
      engine: {
        ...what,
        tier: tier.number,
        rank,
        secondary: secondaryScore,
        move,
        isClosed: read.run.isClosed,
        cohort: inOrder(rankings),
      },
      model: { ...what, ...model, cohort: inOrder(model.cohort) },
    };
  }
}
