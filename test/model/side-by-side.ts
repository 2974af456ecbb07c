import type { Pool } from 'pg';
import type { Catalog } from '../../src/domain/catalog.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import { addDays, midnight, wall } from './calendar.ts';
import { CompareReads } from './compare-reads.ts';
import { LaurelModel, type SentUser } from './laurel-model.ts';
import type { Step } from './random-history.ts';
import { refused, same, seenCompletion, seenEvent } from './seen.ts';

/** Runs one history on the engine and on the model, and compares whatever either says. */
export class SideBySide {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly reads: CompareReads;

  constructor(engine: TestUsers, pool: Pool, { catalog, startMs }: { catalog: Catalog; startMs: number }) {
    this.engine = engine;
    this.model = new LaurelModel(catalog, startMs);
    this.reads = new CompareReads(engine, this.model, pool);
    engine.catalog = catalog;
    engine.clock.set(startMs);
  }

  /** Takes a step on both sides and compares the answers. */
  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'event':
        return this.event(step);
      case 'wait':
        return this.clockTo(this.model.nowMs + step.ms);
      case 'midnight': {
        const tz = this.model.users.get(step.user)?.tz ?? null;
        const tomorrow = midnight(addDays(wall(this.model.nowMs, tz).date, 1), tz);
        return this.clockTo(Math.max(this.model.nowMs, tomorrow - (step.before ? 1 : 0)));
      }
      case 'upsert':
        return this.upsert(step);
      case 'complete':
        return this.complete(step);
      case 'frequency': {
        const { catalog } = this.model;
        const streaks = { ...catalog.streaks, frequency: step.frequency };
        this.model.catalog = this.engine.catalog = { ...catalog, streaks };
        return;
      }
      case 'read':
        return this.compareReads();
    }
  }

  /** Compares whatever can be read. */
  compareReads(): Promise<void> {
    return this.reads.all();
  }

  private clockTo(nowMs: number): void {
    this.model.nowMs = nowMs;
    this.engine.clock.set(nowMs);
  }

  private async upsert(step: Extract<Step, { do: 'upsert' }>): Promise<void> {
    const user = sentUser(step);
    this.model.upsert(user);
    await this.engine.profiles.upsert(this.engine.compiled(), user.id, user);
  }

  private async event(step: Extract<Step, { do: 'event' }>): Promise<void> {
    const { metric: metricKey, value, key } = step;
    const user = sentUser(step);
    const attributes = step.deck === null ? {} : { deck: step.deck };
    const more = { attributes, ...(key !== null && { key }) };
    const answer = await this.engine.event(metricKey, user, value, more).catch(refused);
    same(answer && seenEvent(answer), this.model.event({ metricKey, user, value, attributes, key }));
  }

  private async complete(step: Extract<Step, { do: 'complete' }>): Promise<void> {
    const possible = this.model.catalog.achievements.filter((one) => one.trigger === 'api' && one.status === 'active');
    const key = possible[step.nth % possible.length]?.key ?? null;
    if (key === null) return;
    const answer = await this.engine.complete(key, step.user).catch(refused);
    same(answer && seenCompletion(answer), this.model.complete(key, { id: step.user }));
  }
}

interface Sent {
  user: string;
  zone: { tz: string | null } | null;
  attributes: { plan: string } | null;
}
const sentUser = ({ user: id, zone, attributes }: Sent): SentUser => ({
  id,
  ...zone,
  ...(attributes !== null && { attributes }),
});
