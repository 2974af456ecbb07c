import type { Pool } from 'pg';
import { Persister } from '../../src/engine/persist/persister.ts';
import { StreakSweep } from '../../src/engine/streaks/streak-sweep.ts';
import { shardOf } from '../../src/redis/keys.ts';
import { Script } from '../../src/redis/script.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import type { LaurelModel } from './laurel-model.ts';

/** The midnights that were not swept yet, on both sides: boards of streaks follow, no other answer changes. */
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
      script: new Script('sweep_streaks'),
      onWritten: () => undefined,
      usersACall: 2,
    });
  }

  async take(): Promise<void> {
    await this.persist();
    const { nowMs } = this.model;
    for (;;) {
      const dueMs = await this.sweep.due(nowMs);
      if (dueMs === null) break;
      await this.sweep.perform(dueMs, new AbortController().signal, nowMs + 1);
      await this.persist();
    }
    this.model.sweep();
  }

  private persist = async () =>
    new Persister({ redis: this.engine.redis, pool: this.pool }).drain(shardOf(this.model.catalog.tenantNo));
}
