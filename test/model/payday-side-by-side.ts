import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { Publisher } from '../../src/engine/notifications/due/publisher.ts';
import { createExpiries } from '../../src/engine/points/expiries.ts';
import { createTimePayments } from '../../src/engine/points/time-payments.ts';
import { TimeTriggers } from '../../src/engine/points/time-triggers.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import type { LaurelModel } from './laurel-model.ts';
import { createAnniversaries, createYearCounts } from '../../src/engine/achievements/anniversaries.ts';
import type { DueWork } from '../../src/engine/schedule/due-work.ts';
import { followedBoards, runWorks, trackRuns } from './leagues-side-by-side.ts';
import { stored } from './stored.ts';
import { keepTrigger } from './only-tenant.ts';
import type { ScheduledWork } from '../../src/engine/schedule/due-work.ts';

/**
 * Time that passes on both sides: the points paid for it and those that expire, the counted years, and the rewarded ranks and
 * leagues of ended runs.
 */
export class Payday {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly pool: Pool;
  private readonly kinds: readonly DueWork[];
  private readonly expiries: ScheduledWork;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    this.engine = engine;
    this.model = model;
    this.pool = pool;
    const options = {
      redis: engine.redis,
      catalogs: { of: () => engine.compiled(), atLeast: async () => undefined },
      onWritten: () => undefined,
    };
    const payments = createTimePayments({ ...options });
    const counts = createYearCounts({ ...options });
    const publisher = new Publisher({ ...options, pool });
    this.expiries = createExpiries({ ...options, scripts: engine.scripts, clock: engine.clock, publisher });
    // Those that fall due at the same time, in this order.
    this.kinds = [
      new TimeTriggers({ pool, payments, atOnce: 20 }),
      createAnniversaries(pool, counts),
      this.expiries,
      ...(followedBoards(model.catalog).length === 0 ? [] : runWorks({ ...options, pool }, publisher)),
    ];
  }

  /** Notes that points expire from the next day on, and that runs end. */
  async begin(): Promise<void> {
    await trackRuns(this.engine.redis, this.pool, this.model);
    await this.expiries.due(this.engine.clock.now());
  }

  /** Moves both clocks, and does what is due until then, in the order of due times. */
  async clockTo(nowMs: number): Promise<void> {
    const { users, catalog } = this.model;
    const isPaid = catalog.triggers.some(({ type, status }) => type === 'time' && status === 'active');
    const isCounted = [...users.values()].some(({ signUp }) => signUp !== null);
    this.model.clockTo(nowMs);
    this.engine.clock.set(nowMs);
    const expires = catalog.pointsSystems.some(({ expiresAfterDays }) => expiresAfterDays !== null);
    if (!isPaid && !isCounted && !expires && followedBoards(catalog).length === 0) return;
    for (;;) {
      // Postgres says who is due.
      await this.store();
      const due = await Promise.all(this.kinds.map(async (kind) => ({ kind, dueMs: await kind.due(nowMs) })));
      const [first, second] = due.filter(isDue).toSorted((a, b) => a.dueMs - b.dueMs);
      if (first === undefined) return;
      const beforeMs = Math.max(first.dueMs + 1, second?.dueMs ?? nowMs + 1);
      let isDone = false;
      const performed = first.kind
        .perform(first.dueMs, new AbortController().signal, beforeMs, nowMs)
        .finally(() => (isDone = true));
      await Promise.all([performed, this.storeUntil(() => isDone)]);
    }
  }

  /** Activates or deactivates one of the `time` triggers. */
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

  /** Of two points systems that expire at the same time, the second waits until what the first changed is stored. */
  private async storeUntil(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      await this.store();
      await sleep(5);
    }
  }

  private store = async () => stored(this.engine.redis, this.pool, this.model.catalog.tenantNo);
}

interface Due {
  kind: DueWork;
  dueMs: number;
}

const isDue = (one: { kind: DueWork; dueMs: number | null }): one is Due => one.dueMs !== null;
