import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { periodOf } from '../../domain/periods.ts';
import type { StreakRankings as Ranking, StreakRankingType } from '../../domain/streaks/streak.ts';
import { dayIn } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { endedStreaks, type StreakOrigin, usersByStreakOrigin } from '../../postgres/history/streaks.ts';
import { compareBytes } from '../leaderboards/standings.ts';
import { settledNow } from '../responses/streaks.ts';
import { statesInSlices } from '../../redis/parts.ts';
import { KeptResults } from '../../pacing/kept-results.ts';

/** Maximum number of users in an answer. This many are always computed. */
const MOST_RANKED = 100;
const PAGE = 500;
/** Maximum number of users or ended streaks to examine for a ranking. */
const MOST_READ = 5_000;
/** How long a ranking is reused at least. */
const KEEP_MS = 1_000;
/** A local day is at most one ahead of UTC's; so is a week that starts on another day since the settings changed. */
const PERIODS_AHEAD = 2;

/**
 * The users of a tenant with the longest streaks. Each process computes a ranking of a tenant and type at most once a second, and at
 * most a twentieth of the time. Candidates come from indexes in Postgres, so the latest changes may be missing; their streaks come from Redis.
 */
export class StreakRankings {
  private readonly redis: Redis;
  private readonly pool: Pool;
  private readonly clock: Clock;
  private readonly kept = new KeptResults<Ranking>({ leastMs: () => KEEP_MS });

  constructor(redis: Redis, pool: Pool, clock: Clock) {
    this.redis = redis;
    this.pool = pool;
    this.clock = clock;
  }

  /**
   * The users with the longest streaks, longest first; equal ones in the order of leaderboards (descending by ID).
   * `active`: current streaks; `longest`: the longest that each user ever had. Excludes users hidden from leaderboards.
   * Throws 422 for a limit outside 1 to 100. If more than 5,000 users have nearly the longest streaks, a user who is a
   * period ahead of others may be missing.
   */
  async top(compiled: CompiledCatalog, type: StreakRankingType, limit: number): Promise<Ranking> {
    if (limit < 1 || limit > MOST_RANKED)
      throw new AppError('unprocessable', `limit must be from 1 to ${MOST_RANKED}.`);
    const key = `${compiled.catalog.tenantNo}:${compiled.catalog.streaks.frequency}:${type}`;
    return (await this.kept.of(key, () => this.make(compiled, type))).slice(0, limit);
  }

  private async make(compiled: CompiledCatalog, type: StreakRankingType): Promise<Ranking> {
    const { frequency } = compiled.catalog.streaks;
    const best = new Best();
    await this.addRunning(compiled, best, (state) =>
      // A streak that is lost but not settled yet has its stored length.
      type === 'longest'
        ? state.streaks[frequency].length
        : settledNow(compiled, state, this.clock.now()).streaks[frequency].length,
    );
    if (type === 'longest') await this.addEnded(compiled, best);
    return best.rows();
  }

  private async addRunning({ catalog }: CompiledCatalog, best: Best, lengthOf: (state: User) => number): Promise<void> {
    const { frequency, weekStart } = catalog.streaks;
    const last = periodOf(dayIn('UTC', this.clock.now()), frequency, weekStart) + PERIODS_AHEAD;
    let after: StreakOrigin | null = null;
    for (let read = 0; read < MOST_READ; read += PAGE) {
      const page: StreakOrigin[] = await usersByStreakOrigin(this.pool, {
        tenantNo: catalog.tenantNo,
        frequency,
        limit: PAGE,
        after,
      });
      const ids = page.map(({ id }) => id);
      for await (const [userId, state] of this.visible(catalog.tenantNo, ids)) best.add(userId, state, lengthOf(state));
      after = page.at(-1) ?? null;
      // A streak with a later origin is not longer than from there to the last period.
      if (page.length < PAGE || best.least() > last - after!.origin) return;
    }
  }

  private async addEnded({ catalog }: CompiledCatalog, best: Best): Promise<void> {
    const { tenantNo } = catalog;
    for (let offset = 0; offset < MOST_READ; offset += PAGE) {
      const page = await endedStreaks(this.pool, {
        tenantNo,
        frequency: catalog.streaks.frequency,
        limit: PAGE,
        offset,
      });
      const states = new Map<string, User>();
      for await (const [userId, state] of this.visible(tenantNo, [...new Set(page.map(({ userId }) => userId))]))
        states.set(userId, state);
      for (const { userId, length } of page) {
        const state = states.get(userId);
        if (state !== undefined) best.add(userId, state, length);
      }
      if (page.length < PAGE || best.least() > page.at(-1)!.length) return;
    }
  }

  /** Those of the users who exist and are not hidden, in slices. */
  private async *visible(tenantNo: number, ids: readonly string[]): AsyncGenerator<[id: string, state: User]> {
    for await (const { userId, packed } of statesInSlices(this.redis, tenantNo, ids)) {
      const state = packed === null ? null : decodeUser(packed);
      if (state?.hidden === 0) yield [userId, state];
    }
  }
}

/** The users with the longest streaks among those added. */
class Best {
  private users = new Map<string, Ranking[number]>();

  /** Keeps a user's longest streak. */
  add(userId: string, { name }: User, streakLength: number): void {
    if (streakLength > (this.users.get(userId)?.streakLength ?? 0))
      this.users.set(userId, { userId, name, streakLength });
  }

  /** The longest first. Drops the others, so that each page sorts only its own additions. */
  rows(): Ranking {
    const rows = [...this.users.values()]
      .toSorted((a, b) => b.streakLength - a.streakLength || compareBytes(b.userId, a.userId))
      .slice(0, MOST_RANKED);
    this.users = new Map(rows.map((row) => [row.userId, row]));
    return rows;
  }

  /** The length that another user must exceed; 0 while there is room. */
  least(): number {
    return this.rows()[MOST_RANKED - 1]?.streakLength ?? 0;
  }
}
