import type { Pool } from 'pg';
import { TimePayments } from '../../src/engine/points/time-payments.ts';
import { TimeTriggers } from '../../src/engine/points/time-triggers.ts';
import { Script } from '../../src/redis/script.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import type { LaurelModel } from './laurel-model.ts';
import { stored } from './stored.ts';
import { keepTrigger } from './only-tenant.ts';

/** Time that passes on both sides, and the points that are paid for it. */
export class Payday {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly pool: Pool;
  private readonly triggers: TimeTriggers;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    this.engine = engine;
    this.model = model;
    this.pool = pool;
    const payments = new TimePayments({
      redis: engine.redis,
      script: new Script('pay_time_triggers'),
      catalogs: { of: () => engine.compiled(), atLeast: async () => undefined },
      onWritten: () => undefined,
    });
    this.triggers = new TimeTriggers({ pool, payments, atOnce: 20 });
  }

  /** Moves both clocks, and pays what falls due until then. */
  async clockTo(nowMs: number): Promise<void> {
    this.model.clockTo(nowMs);
    this.engine.clock.set(nowMs);
    if (!this.model.catalog.triggers.some(({ type, status }) => type === 'time' && status === 'active')) return;
    // Postgres says who is due.
    await this.store();
    for (;;) {
      const dueMs = await this.triggers.due(nowMs);
      if (dueMs === null) return;
      await this.triggers.perform(dueMs, new AbortController().signal, nowMs + 1);
    }
  }

  /** Switches one of the `time` triggers on or off. */
  async toggle(nth: number): Promise<void> {
    const { triggers, tenantNo } = this.model.catalog;
    const those = triggers.filter(({ type }) => type === 'time');
    const one = those[nth % Math.max(1, those.length)];
    if (one === undefined) return;
    const toggled =
      one.status === 'active'
        ? { ...one, status: 'inactive' as const }
        : { ...one, status: 'active' as const, activated: this.model.nowMs };
    const changed = triggers.map((trigger) => (trigger === one ? toggled : trigger));
    this.model.catalog = { ...this.model.catalog, triggers: changed };
    this.engine.catalog = { ...this.engine.catalog, triggers: changed };
    await keepTrigger(this.pool, tenantNo, toggled);
  }

  private store = async () => stored(this.engine.redis, this.pool, this.model.catalog.tenantNo);
}
