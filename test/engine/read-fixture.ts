import type { Pool } from 'pg';
import { compileCatalog, type CompiledCatalog } from '../../src/catalog/compiled-catalog.ts';
import {
  createLeaderboardReads,
  type LeaderboardReads,
} from '../../src/engine/leaderboards/reads/leaderboard-reads.ts';
import type { KeptRuns } from '../../src/engine/leaderboards/kept-runs.ts';
import { Persister } from '../../src/engine/persist/persister.ts';
import { PointsReads } from '../../src/engine/points/points-reads.ts';
import { createUserPoints, type UserPoints } from '../../src/engine/points/user-points.ts';
import { createStreakReads, type StreakReads } from '../../src/engine/streaks/streak-reads.ts';
import { makeAjv } from '../../src/operations/validation.ts';
import type { Operation } from '../../src/operations/operation.ts';
import type { TestDatabase } from '../postgres/database.ts';
import { CatalogBuilder } from './catalog-builder.ts';
import { TestEngine } from './events/engine.ts';
import { NO_PAST } from './leaderboards/no-past.ts';

/** An engine with all reads of what its events did. */
export class ReadFixture {
  readonly laurel: TestEngine;
  readonly pool: Pool;
  readonly points: PointsReads;
  readonly userPoints: UserPoints;
  readonly streaks: StreakReads;
  readonly leaderboards: LeaderboardReads;

  constructor(laurel: TestEngine, pool: Pool, past: KeptRuns = NO_PAST) {
    const { redis, users, clock } = laurel;
    this.laurel = laurel;
    this.pool = pool;
    this.points = new PointsReads(redis, pool, clock);
    this.userPoints = createUserPoints(pool, users, clock);
    this.streaks = createStreakReads(redis, pool, users, clock);
    this.leaderboards = createLeaderboardReads({ redis, users, clock, past });
  }

  get compiled(): CompiledCatalog {
    return compileCatalog(this.laurel.catalog);
  }

  /** Sets the clock without waiting for anything. */
  at(iso: string): void {
    this.laurel.clock.set(Date.parse(iso));
  }

  /** Stores what happened so far in Postgres. */
  async persist(): Promise<void> {
    await new Persister({ redis: this.laurel.redis, pool: this.pool }).drain(0);
  }
}

/** Runs a test on an empty Redis and empty tables. */
export async function withReads(
  { stack, pool }: TestDatabase,
  build: (builder: CatalogBuilder) => void,
  run: (reads: ReadFixture) => Promise<void>,
  past?: KeptRuns,
): Promise<void> {
  const builder = new CatalogBuilder();
  build(builder);
  const laurel = new TestEngine(stack.redisUrl, builder.catalog, { pool });
  try {
    await pool.query(`TRUNCATE users, events, event_days, summed_users, reversals, awards, completions, streak_changes, streak_pauses, streak_zones, outbox_cursors,
        catalog_resources CASCADE`);
    await laurel.ready();
    await run(new ReadFixture(laurel, pool, past));
  } finally {
    await laurel.close();
  }
}

const ajv = makeAjv();

/** The body, checked against what the operation declares for 200. */
export function fitting<T>(operation: Operation, body: T): T {
  const schema = operation.responses[200];
  if (schema === null || schema === undefined) throw new Error(`${operation.id} declares no 200`);
  if (!ajv.validate(schema, body)) throw new Error(`${operation.id}: ${ajv.errorsText()} in ${JSON.stringify(body)}`);
  return body;
}
