import type { Pool } from 'pg';
import type { Catalog } from '../../src/domain/catalog.ts';
import type { StreakSettings } from '../../src/domain/fields/tenant-settings.ts';
import { replaceStreaks } from '../../src/domain/streaks/streak-settings.ts';
import { userPart } from '../../src/redis/parts.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import { Batches } from './batch-side-by-side.ts';
import { addDays, midnight, sundayFrom, wall } from './calendar.ts';
import { CompareReads } from './compare-reads.ts';
import { LaurelModel, type SentEvent, type SentUser } from './laurel-model.ts';
import { onlyTenant } from './only-tenant.ts';
import { Payday } from './payday-side-by-side.ts';
import { freezesOf } from './drawn-catalog.ts';
import type { History, Step } from './random-history.ts';
import { SpendingSideBySide } from './spending-side-by-side.ts';
import { StreakAdminSideBySide } from './streak-admin-side-by-side.ts';
import { Sweep } from './sweep-side-by-side.ts';
import { leagueBoards } from './leagues-side-by-side.ts';
import { ModelLeagues } from './leagues.ts';
import { refused, seenCompletion, seenEvent, type Said } from './seen.ts';
import type { ModelUser } from './user.ts';

const NOON_MS = 12 * 3_600_000;
const NOTHING: Said = { engine: null, model: null };

/** Runs one history on the engine and on the model, and compares their answers. */
export class SideBySide {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly reads: CompareReads;
  private readonly streakAdmin: StreakAdminSideBySide;
  private readonly sweep: Sweep;
  private readonly payday: Payday;
  private readonly batches: Batches;
  private readonly spending: SpendingSideBySide;
  /** The selected streaks were those of another frequency before. */
  private isSwitched = false;
  private readonly homes: History['homes'];

  private constructor(
    engine: TestUsers,
    pool: Pool,
    { catalog, startMs, homes }: { catalog: Catalog; startMs: number; homes: History['homes'] },
  ) {
    this.engine = engine;
    this.homes = homes;
    this.model = new LaurelModel(catalog, startMs);
    if (leagueBoards(catalog.leaderboards).length > 0)
      this.model.leagues = new ModelLeagues(this.model, (id) => userPart(engine.redis, catalog.tenantNo, id).shard);
    this.reads = new CompareReads(engine, this.model, pool);
    this.streakAdmin = new StreakAdminSideBySide(engine, this.model, pool);
    this.sweep = new Sweep(engine, this.model, pool);
    this.payday = new Payday(engine, this.model, pool);
    this.batches = new Batches(engine, this.model);
    this.spending = new SpendingSideBySide(engine, this.model, pool);
    engine.catalog = catalog;
    engine.clock.set(startMs);
  }

  /** Resets both. Nothing from before remains on the engine's side. */
  static async start(
    engine: TestUsers,
    pool: Pool,
    begin: { catalog: Catalog; startMs: number; homes: History['homes'] },
  ): Promise<SideBySide> {
    await onlyTenant(pool, begin.catalog);
    const both = new SideBySide(engine, pool, begin);
    await both.payday.begin();
    return both;
  }

  /** The model's users. */
  users(): ModelUser[] {
    return [...this.model.users.values()];
  }

  /** Takes a step on both sides. */
  async take(step: Step): Promise<Said> {
    switch (step.do) {
      case 'event':
        return this.event(step);
      case 'batch':
        return this.batch(step);
      case 'wait':
        return this.clockTo(this.model.nowMs + step.ms);
      case 'midnight': {
        const tz = this.model.users.get(step.user)?.tz ?? null;
        const tomorrow = midnight(addDays(wall(this.model.nowMs, tz).date, 1), tz);
        return this.clockTo(Math.max(this.model.nowMs, tomorrow - (step.before ? 1 : 0)));
      }
      case 'upsert':
        return this.upsert(step);
      case 'prefer':
        return this.prefer(step);
      case 'complete':
        return this.complete(step);
      case 'freeze':
      case 'pause':
      case 'unpause':
      case 'restore':
      case 'reset':
        return this.streakAdmin.take(step);
      case 'spend':
      case 'hold':
      case 'close':
        return this.spending.take(step);
      case 'settings':
        return this.settings({
          ...(step.enabled !== null && { enabled: step.enabled }),
          ...(step.frequency !== null && { frequency: step.frequency }),
          ...(step.freezes !== null && { freezes: freezesOf(step.freezes.of) }),
          ...(step.daysOff !== null && { daysOff: step.daysOff }),
          ...(step.personalization !== null && { personalization: step.personalization }),
        });
      case 'weeks': {
        const sunday = midnight(sundayFrom(wall(this.model.nowMs, null).date), null) + NOON_MS;
        if (step.onSunday) await this.clockTo(Math.max(this.model.nowMs, sunday));
        return this.settings({ weekStart: this.model.catalog.streaks.weekStart === 'sunday' ? 'monday' : 'sunday' });
      }
      case 'toggle':
        await this.payday.toggle(step.nth);
        return NOTHING;
      case 'sweep':
        // Leaderboards show another frequency only after they are filled again, which this does not do.
        if (!this.isSwitched) await this.sweep.take();
        return NOTHING;
      case 'read':
        return this.reads.all();
    }
  }

  private async clockTo(nowMs: number): Promise<Said> {
    await this.payday.clockTo(nowMs);
    return NOTHING;
  }

  private async settings(changed: Partial<StreakSettings>): Promise<Said> {
    // Only a clock of milliseconds distinguishes a first sight before the change from one after it.
    const { users, nowMs } = this.model;
    if ([...users.values()].some((user) => user.streaks.firstMs === nowMs)) await this.clockTo(nowMs + 1);
    const streaks = { ...this.model.catalog.streaks, ...changed };
    if (streaks.frequency !== 'daily') streaks.daysOff = [];
    if (streaks.frequency !== this.model.catalog.streaks.frequency) this.isSwitched = true;
    this.model.setStreaks(streaks);
    this.engine.catalog = replaceStreaks(this.engine.catalog, streaks, this.model.nowMs);
    return NOTHING;
  }

  private async upsert(step: Extract<Step, { do: 'upsert' }>): Promise<Said> {
    const user = this.sentUser(step);
    const upserted = this.engine.profiles.upsert(this.engine.compiled(), user.id, user);
    const engine = await upserted.then(() => true).catch((error) => refused(error, 422) ?? false);
    return { engine, model: this.model.upsert(user) };
  }

  private async event(step: EventStep): Promise<Said> {
    const event = this.sentEvent(step);
    const { metricKey, user, value, attributes, key, metadata } = event;
    const more = { attributes, ...(key !== null && { key }), ...(metadata !== null && { metadata }) };
    const answer = await this.engine.event(metricKey, user, value, more).catch((error) => refused(error, 422));
    return { engine: answer && seenEvent(answer), model: this.model.event(event) };
  }

  private async batch({ events }: Extract<Step, { do: 'batch' }>): Promise<Said> {
    // A day that has not begun in any zone refuses the whole batch.
    const past = (signUp: EventStep['signUp']) => signUp && { daysAgo: Math.max(0, signUp.daysAgo) };
    const sent = events.map((event) => this.sentEvent({ ...event, signUp: past(event.signUp) }));
    if (this.model.catalog.leaderboards.every(({ aggregate }) => aggregate !== 'last')) return this.batches.take(sent);
    // Within a millisecond, what is computed from history need not know which event of a batch or alone was applied last.
    const all: Said[] = [];
    for (const event of sent) {
      await this.clockTo(this.model.nowMs + 1);
      all.push(await this.batches.take([event]));
    }
    await this.clockTo(this.model.nowMs + 1);
    return { engine: all.map(({ engine }) => engine), model: all.map(({ model }) => model) };
  }

  private async prefer({ user, enabled, mode, daysOff }: Extract<Step, { do: 'prefer' }>): Promise<Said> {
    if (!this.model.users.has(user)) return NOTHING;
    const isDaily = this.model.catalog.streaks.frequency === 'daily';
    const streak = {
      enabled,
      ...(mode !== null && { evaluationMode: mode }),
      ...(daysOff !== null && isDaily && { daysOff }),
    };
    const updated = this.engine.profiles.updatePreferences(this.engine.compiled(), user, { streak });
    const engine = await updated.then((preferences) => preferences.streak).catch((error) => refused(error, 403));
    return { engine, model: this.model.prefer(user, streak) };
  }

  private async complete(step: Extract<Step, { do: 'complete' }>): Promise<Said> {
    const possible = this.model.catalog.achievements.filter(
      (one) => one.trigger === 'api' && one.status === 'active' && one.leaderboardId === null,
    );
    const key = possible[step.nth % possible.length]?.key ?? null;
    if (key === null) return NOTHING;
    const answer = await this.engine.complete(key, step.user).catch((error) => refused(error, 422, 409));
    return { engine: answer && seenCompletion(answer), model: this.model.complete(key, { id: step.user }) };
  }

  private sentEvent(step: EventStep): SentEvent {
    const { metric: metricKey, value, key, deck, moves, hat } = step;
    const attributes = { ...(deck !== null && { deck }), ...(moves !== null && { moves }) };
    const metadata = hat === null ? null : { hat };
    return { metricKey, user: this.sentUser(step), value, attributes, key, metadata };
  }

  /** The first event of a user sets the zone. */
  private sentUser({ user: id, zone, attributes, signUp }: Sent): SentUser {
    const known = this.model.users.get(id);
    const place = known === undefined ? this.homes[id] : zone;
    const { date: today } = wall(this.model.nowMs, (place === null ? known?.tz : place.tz) || null);
    return {
      id,
      ...place,
      ...(signUp !== null && { signUpDate: addDays(today, -signUp.daysAgo) }),
      ...(attributes !== null && { attributes }),
    };
  }
}

type EventStep = Extract<Step, { do: 'event' }>;

interface Sent {
  user: 'a' | 'b' | 'c';
  zone: { tz: string } | null;
  attributes: { plan: string } | null;
  signUp: { daysAgo: number } | null;
}
