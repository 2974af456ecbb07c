import type { Pool } from 'pg';
import type { Catalogs } from '../../catalog/catalogs.ts';
import { compileSweepPlan } from '../../catalog/compile/plans.ts';
import { earning } from '../../catalog/compile/streak.ts';
import { epochDay } from '../../domain/periods.ts';
import { streaksAt } from '../../domain/streaks/streak-settings.ts';
import { dayIn, dayStartMs } from '../../domain/zone.ts';
import {
  dropUnusedZone,
  dueUsers,
  leastSwept,
  noteSwept,
  type SweptZone,
  type UserPage,
  zonesAt,
} from '../../postgres/streak-sweep.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';
import { type OnPieceFailed, type Piece, Pieces, userPiece } from '../schedule/pieces.ts';
import { createSweepCalls, type SweepCalls, type SweepCallsOptions } from './sweep-calls.ts';
import { tenantParts } from '../../redis/parts.ts';

export interface StreakSweepOptions extends Omit<SweepCallsOptions, 'onUserFailed'> {
  pool: Pool;
  catalogs: Pick<Catalogs, 'of' | 'atLeast'>;
  onFailed?: OnPieceFailed;
  workMs?: number;
}

const zonePiece = ({ tenantNo, zone }: SweptZone): Piece => ({
  key: `${tenantNo}:${zone}`,
  name: `zone ${zone === '' ? 'UTC' : zone} of tenant ${tenantNo}`,
  detail: { tenantNo, zone },
});

/** Users that Postgres examines in one statement; progress is stored after each page. */
const USERS_A_PAGE = 5_000;
const WORK_MS = 2_000;

/**
 * The midnights of streaks. When a day begins in a zone, users there whose streaks may change are settled in the same way as
 * by their next event or read (`src/rules/streaks.ts`). So streak boards follow, and freezes and lost streaks are reported
 * when they happen. No answer depends on whether this ran, and a repetition changes nothing.
 *
 * Postgres knows whose streak may change (`users.due_day`). It may lag behind the last sweep, and then names too many users,
 * never too few. Days without such users are not swept individually: an idle year costs one query for each zone.
 *
 * A tenant's zone that fails is set aside; the others go on. A user who fails is skipped until the zone's next midnight.
 */
export class StreakSweep implements ScheduledWork {
  readonly name = 'midnights of streaks';
  readonly apartFrom = ['points for time'];
  private readonly options: StreakSweepOptions;
  private readonly pieces: Pieces;
  private readonly calls: SweepCalls;
  /** The clock's time when `due` was last called. */
  private upToMs = -Infinity;
  /** Zones with settled users since the last wait for Postgres. */
  private readonly settled = new Set<string>();
  private underWay = false;

  constructor(options: StreakSweepOptions) {
    this.options = options;
    this.pieces = new Pieces({ kind: this.name, onFailed: options.onFailed });
    this.calls = createSweepCalls({
      ...options,
      onUserFailed: (tenantNo, userId, error) =>
        options.onFailed?.({ kind: this.name, piece: userPiece(tenantNo, userId), error }),
    });
  }

  /** Postgres still names users who are not settled yet, so a zone continues where it stopped. */
  get seesItself(): boolean {
    return this.underWay;
  }

  get aside(): string[] {
    return this.pieces.aside.map(({ name }) => name);
  }

  async due(upToMs: number): Promise<number | null> {
    this.upToMs = upToMs;
    return (await this.next(upToMs))?.dueMs ?? null;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    return (await this.next(untilMs))?.dueMs ?? null;
  }

  async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
    const endMs = performance.now() + (this.options.workMs ?? WORK_MS);
    const goesOn = (): boolean => !ending.aborted && performance.now() < endMs;
    // Settled users are in Postgres before a zone is asked again; otherwise it would name the same users each day.
    if (!this.underWay) this.settled.clear();
    this.underWay = false;
    await this.sweepZones(Math.max(dueMs, beforeMs - 1), goesOn, ending);
    if (!this.underWay) await this.calls.end();
  }

  private async sweepZones(upToMs: number, goesOn: () => boolean, ending: AbortSignal): Promise<void> {
    while (goesOn()) {
      const next = await this.next(upToMs);
      if (next === null || this.settled.has(next.zone)) return;
      for (const zone of await zonesAt(this.options.pool, next.zone, next.sweptDay)) {
        const piece = zonePiece(zone);
        if (this.pieces.isAside(piece.key)) continue;
        const outcome = await this.pieces.attempt(piece, ending, () => this.sweep(zone, next.dueMs, goesOn));
        if (outcome?.value === 'ended') return;
        if (outcome?.value === 'settled') this.settled.add(next.zone);
      }
    }
  }

  /** The earliest midnight, not after a time, that is not swept. */
  private async next(upToMs: number): Promise<{ dueMs: number; zone: string; sweptDay: number } | null> {
    let first: { dueMs: number; zone: string; sweptDay: number } | null = null;
    for (const { zone, sweptDay } of await leastSwept(
      this.options.pool,
      this.pieces.aside.map(({ key }) => key),
    )) {
      const dueMs = dayStartMs(zone === '' ? 'UTC' : zone, sweptDay + 1);
      if (dueMs <= upToMs && (first === null || dueMs < first.dueMs)) first = { dueMs, zone, sweptDay };
    }
    return first;
  }

  /** Sweeps a zone to the next day. `quiet`: nobody had anything to settle. `ended`: aborted or overtaken. */
  private async sweep(zone: SweptZone, dueMs: number, goesOn: () => boolean): Promise<'settled' | 'quiet' | 'ended'> {
    const { pool, catalogs } = this.options;
    const { tenantNo } = zone;
    await catalogs.atLeast(tenantNo, zone.version);
    const compiled = await catalogs.of(tenantNo);
    const day = zone.sweptDay + 1;
    const inForce = streaksAt(compiled.catalog, dueMs);
    const utcDay = epochDay(dueMs);
    const plan = compileSweepPlan(compiled, utcDay);
    const { work } = compiled.userPlan(utcDay);
    let at = zone;
    let quiet = zone.lastUser === '';
    let nextDay = Infinity;
    const read = (after: string): Promise<UserPage> =>
      dueUsers(pool, { tenantNo, zone: zone.zone, after, day, earning: earning(inForce), limit: USERS_A_PAGE });
    let page = await read(at.lastUser);
    if (quiet && page.seen === 0 && (await this.drop(zone))) return 'quiet';
    for (;;) {
      const following = page.lastUser === '' ? null : read(page.lastUser);
      // Awaited below, or not at all.
      following?.catch(() => undefined);
      const done = await this.calls.settle(page.ids, { tenantNo, zone: zone.zone, dueMs, plan, work }, goesOn);
      quiet = quiet && page.ids.length === 0;
      nextDay = Math.min(nextDay, page.nextDay ?? Infinity);
      const end = done === page.ids.length && following === null;
      const lastUser = done < page.ids.length ? (page.ids[done - 1] ?? at.lastUser) : page.lastUser;
      const sweptDay = quiet ? Math.max(day, Math.min(nextDay - 1, this.lastDay(zone, inForce.untilMs))) : day;
      const next = end ? { sweptDay, lastUser: '' } : { sweptDay: zone.sweptDay, lastUser };
      if (!(await noteSwept(pool, at, next))) return 'ended';
      if (end) return quiet ? 'quiet' : 'settled';
      this.underWay ||= lastUser !== at.lastUser;
      if (!goesOn()) return 'ended';
      at = { ...at, ...next };
      page = await following!;
    }
  }

  /** Removes a zone without users. */
  private async drop({ tenantNo, zone }: SweptZone): Promise<boolean> {
    const shards = tenantParts(this.options.redis, tenantNo).map(({ shard }) => shard);
    const dropped = await dropUnusedZone(this.options.pool, { tenantNo, zone, shards });
    // Persisters may have given up meanwhile.
    for (const shard of shards) this.options.onWritten(shard);
    return dropped;
  }

  /** The local day of a zone at the clock's time, or when former settings ended. */
  private lastDay({ zone }: SweptZone, untilMs: number): number {
    return dayIn(zone === '' ? null : zone, Math.min(this.upToMs, untilMs));
  }
}
