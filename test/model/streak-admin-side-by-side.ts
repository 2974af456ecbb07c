import type { Pool } from 'pg';
import { createStreakAdmin, type StreakAdmin } from '../../src/engine/streaks/streak-admin.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import { addDays, wall, type LocalDate } from './calendar.ts';
import type { LaurelModel } from './laurel-model.ts';
import type { Step } from './random-history.ts';
import type { Said } from './seen.ts';
import { stored } from './stored.ts';
import { giveFreeze, pause, reset, restore, unpause } from './streak-admin.ts';

const BY = { by: { who: 'test' } };

type CareStep = Extract<Step, { do: 'freeze' | 'pause' | 'unpause' | 'restore' | 'reset' }>;

interface Made {
  id: string;
  userId: string;
  start: LocalDate;
  end: LocalDate;
}

/** Administrators' changes to streaks, on both sides. */
export class StreakAdminSideBySide {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly admin: StreakAdmin;
  private readonly pauses: Made[] = [];
  private unpaused: string | null = null;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    const { redis, users, clock, scripts } = engine;
    this.engine = engine;
    this.model = model;
    this.admin = createStreakAdmin({
      pool,
      users,
      clock,
      recordAudit: async () => undefined,
      scripts,
      isStored: async () => false,
      persisted: (tenantNo) => stored(redis, pool, tenantNo),
    });
  }

  /** Takes a step on both sides. A changed streak counts as evaluated. */
  async take(step: CareStep): Promise<Said> {
    const said = await this.change(step);
    const isChanged = said.model === true || Array.isArray(said.model);
    const userId = step.do === 'unpause' ? this.unpaused : step.user;
    if (isChanged && userId !== null) this.model.show(this.model.users.get(userId)!);
    return said;
  }

  private async change(step: CareStep): Promise<Said> {
    const compiled = this.engine.compiled();
    const { catalog } = this.model;
    switch (step.do) {
      case 'freeze': {
        const given = await this.admin.giveFreeze(compiled, step.user, BY);
        const found = this.model.settledStreaks(step.user);
        return { engine: isDone(given), model: found !== null && giveFreeze(found.streaks, catalog) };
      }
      case 'reset': {
        const done = await this.admin.reset(compiled, step.user, BY);
        const found = this.model.settledStreaks(step.user);
        const { nowMs: atMs } = this.model;
        const user = this.model.users.get(step.user);
        return {
          engine: isDone(done),
          model: found !== null && reset(user!, { today: found.today, atMs }, catalog),
        };
      }
      case 'restore': {
        const found = this.model.settledStreaks(step.user);
        // On a day that a journey back began a second time, the engine has the restored streak wait for this very day. In
        // the model a day does not end twice, so it cannot predict the streak.
        if (found !== null && found.streaks.day > found.today) return { engine: null, model: null };
        const [restored] = await this.admin.restore(compiled, [step.user], BY);
        return { engine: isDone(restored), model: found !== null && restore(found.streaks, found.today, catalog) };
      }
      case 'pause':
        return this.pause(step);
      case 'unpause':
        return this.unpause(step);
    }
  }

  private async pause({ user: userId, from, days }: Extract<Step, { do: 'pause' }>): Promise<Said> {
    const found = this.model.settledStreaks(userId);
    const start = addDays(found?.today ?? wall(this.model.nowMs, null).date, from);
    const end = addDays(start, days);
    const made = await this.admin.pause(this.engine.compiled(), { userId, start, end }, BY);
    if (typeof made !== 'string') this.pauses.push({ id: made.id, userId, start, end });
    return { engine: isDone(made), model: found !== null && pause(found.streaks, { start, end }, found.today) };
  }

  private async unpause({ nth }: Extract<Step, { do: 'unpause' }>): Promise<Said> {
    const [one] = this.pauses.splice(nth % Math.max(1, this.pauses.length), 1);
    if (one === undefined) return { engine: null, model: null };
    this.unpaused = one.userId;
    const deleted = await this.admin.deletePauses(this.engine.compiled(), [one.id], BY);
    const { streaks, today } = this.model.settledStreaks(one.userId)!;
    const made = streaks.pauses.find(({ start }) => start === one.start);
    if (made !== undefined) unpause(streaks, made, today);
    return { engine: deleted, model: [one.id] };
  }
}

const isDone = (outcome: unknown): boolean => typeof outcome === 'object' && outcome !== null && !('reason' in outcome);
