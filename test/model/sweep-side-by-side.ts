import type { Pool } from 'pg';
import { StreakSweep } from '../../src/engine/streaks/streak-sweep.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import type { LaurelModel } from './laurel-model.ts';
import { stored } from './stored.ts';

/** Sweeps the pending midnights on both sides: streak leaderboards follow, no other answer changes. */
export class Sweep {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly pool: Pool;
  private readonly sweep: StreakSweep;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    this.engine = engine;
    this.model = model;
    this.pool = pool;
    this.sweep = new StreakSweep({
      redis: engine.redis,
      pool,
      catalogs: { of: () => engine.compiled(), atLeast: async () => undefined },
      onWritten: () => undefined,
      usersACall: 2,
    });
  }

  async take(): Promise<void> {
    await this.store();
    const { nowMs } = this.model;
    for (;;) {
      const dueMs = await this.sweep.due(nowMs);
      if (dueMs === null) break;
      await this.sweep.perform(dueMs, new AbortController().signal, nowMs + 1);
      await this.store();
    }
    this.model.sweep();
  }

  private store = async () => stored(this.engine.redis, this.pool, this.model.catalog.tenantNo);
}
