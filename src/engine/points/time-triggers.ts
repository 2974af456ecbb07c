import type { Pool } from 'pg';
import { DAY_MS, epochDay } from '../../domain/periods.ts';
import {
  type DuePeriod,
  duePeriods,
  HOUR_MS,
  type OpenTrigger,
  type PeriodPlace,
  periodsAt,
  type TriggerPeriods,
} from '../../postgres/time-triggers.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';
import { type OnPieceFailed, Pieces, tenantPiece } from '../schedule/pieces.ts';
import type { TimePayments } from './time-payments.ts';
import { TriggerProgress, type Open } from './trigger-progress.ts';

export interface TimeTriggersOptions {
  pool: Pool;
  payments: Pick<TimePayments, 'pay'>;
  onFailed?: OnPieceFailed;
  /** Periods that are paid together; for tests. */
  atOnce?: number;
}

const AT_ONCE = 5_000;
/** The first span to search for due periods; it doubles while the span is empty. */
const FIRST_SPAN_MS = 60_000;
const WORK_MS = 2_000;
/** Interval at which progress is stored while nothing is due. */
const NOTED_EVERY_MS = 60_000;

/** How far a moment is paid at which more periods end than are paid at once, by these triggers. */
interface Moment {
  dueMs: number;
  triggers: string;
  after: PeriodPlace;
}

interface Page {
  periods: DuePeriod[];
  /** Everything before this is paid with these periods. */
  nextMs: number;
  /** Set if others end at `nextMs`, of which some are among these. */
  moment: Moment | null;
}

/**
 * Points for time. A `time` trigger pays every n hours, or days of 24 hours, since the user's creation, at exact
 * multiples, so nothing drifts; only periods that end after its activation count. An index in Postgres on the time of
 * day of the creation finds the users that are due: each second, 12 (days) or 280 (hours) of a million users. Postgres
 * stores how far each trigger is paid, and the user's state stores the last payment. So a repetition after a crash, or
 * by two schedules, changes nothing. An import creates very many users in one millisecond; they are paid in pages, in order of their IDs.
 * A tenant whose periods cannot be paid is set aside; the others go on.
 */
export class TimeTriggers implements ScheduledWork {
  readonly name = 'points for time';
  readonly seesItself = true;
  readonly apartFrom = ['midnights of streaks'];
  private readonly options: TimeTriggersOptions;
  private readonly pieces: Pieces;
  private readonly progress: TriggerProgress;
  private readonly atOnce: number;
  /** The span to pay at once: it contains about `atOnce` periods. */
  private spanMs = FIRST_SPAN_MS;
  /** Only in memory: after a crash, the moment is paid from its beginning, which changes nothing. */
  private moment: Moment | null = null;

  constructor(options: TimeTriggersOptions) {
    this.options = options;
    this.pieces = new Pieces({ kind: this.name, onFailed: options.onFailed });
    this.progress = new TriggerProgress(options.pool, this.pieces);
    this.atOnce = options.atOnce ?? AT_ONCE;
  }

  get aside(): string[] {
    return this.pieces.aside.map(({ name }) => name);
  }

  async due(upToMs: number): Promise<number | null> {
    const { pool } = this.options;
    const open = await this.progress.open(upToMs);
    let spanMs = FIRST_SPAN_MS;
    for (;;) {
      const waiting = open.filter(({ fromMs }) => fromMs <= upToMs);
      if (waiting.length === 0) return null;
      const startMs = Math.min(...waiting.map(({ fromMs }) => fromMs));
      if (this.moment?.dueMs === startMs) return startMs;
      const toMs = Math.min(upToMs, startMs + spanMs - 1);
      const [first] = await duePeriods(pool, { asked: waiting.map(periodsOf), toMs, limit: 1 });
      if (first !== undefined) return first.dueMs;
      await this.progress.advance(waiting, toMs + 1, { noteAfterMs: NOTED_EVERY_MS });
      spanMs = Math.min(spanMs * 2, DAY_MS);
    }
  }

  async upcoming(untilMs: number): Promise<number | null> {
    const waiting = (await this.progress.open()).filter(({ fromMs }) => fromMs <= untilMs);
    if (waiting.length === 0) return null;
    const [first] = await duePeriods(this.options.pool, { asked: waiting.map(periodsOf), toMs: untilMs, limit: 1 });
    return first?.dueMs ?? null;
  }

  async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
    let open = await this.progress.open();
    const endMs = performance.now() + WORK_MS;
    let fromMs = dueMs;
    for (let left = this.atOnce; fromMs < beforeMs && left > 0 && performance.now() < endMs;) {
      // One call covers one UTC day.
      const dayEndMs = (epochDay(fromMs) + 1) * DAY_MS;
      const toMs = Math.min(beforeMs, dayEndMs, fromMs + this.spanMs) - 1;
      const { periods, nextMs, moment } = await this.page(open, { fromMs, toMs });
      this.moment = null;
      const paid = await this.paid(open, periods, ending);
      if (ending.aborted) return;
      // If a tenant failed, the others are paid again.
      if (paid.length === open.length) this.moment = moment;
      open = paid;
      fromMs = nextMs;
      left -= periods.length;
      await this.progress.advance(open, nextMs, { noteAfterMs: Infinity });
    }
    await this.progress.advance(open, fromMs, { noteAfterMs: 0 });
  }

  /** The periods that end in a span, or in the first part of it, or some of those of its first moment. */
  private async page(open: readonly Open[], { fromMs, toMs }: { fromMs: number; toMs: number }): Promise<Page> {
    const from = open.map((trigger) => ({ ...periodsOf(trigger), fromMs: Math.max(trigger.fromMs, fromMs) }));
    if (this.moment?.dueMs === fromMs) return this.pageOfMoment(from, fromMs);
    const limit = this.atOnce;
    const periods = await duePeriods(this.options.pool, { asked: from, toMs, limit });
    if (periods.length < limit) {
      if (periods.length < limit / 4) this.spanMs = Math.min(this.spanMs * 2, DAY_MS);
      return { periods, nextMs: toMs + 1, moment: null };
    }
    this.spanMs = Math.max(this.spanMs / 2, 1_000);
    const nextMs = periods.at(-1)!.dueMs;
    const before = periods.filter((period) => period.dueMs < nextMs);
    if (before.length > 0) return { periods: before, nextMs, moment: null };
    return this.pageOfMoment(from, nextMs);
  }

  private async pageOfMoment(from: readonly TriggerPeriods[], dueMs: number): Promise<Page> {
    const reached = from.filter(({ fromMs }) => fromMs <= dueMs);
    const triggers = reached.map(({ tenantNo, triggerNo }) => `${tenantNo}:${triggerNo}`).join();
    const known = this.moment?.dueMs === dueMs && this.moment.triggers === triggers ? this.moment.after : null;
    const page = await periodsAt(this.options.pool, { asked: reached, dueMs, after: known, limit: this.atOnce });
    const last = page.periods.at(-1);
    if (page.isLast || last === undefined) return { periods: page.periods, nextMs: dueMs + 1, moment: null };
    const after = { tenantNo: last.tenantNo, userId: last.userId };
    return { periods: page.periods, nextMs: dueMs, moment: { dueMs, triggers, after } };
  }

  /** Pays periods. Returns the triggers whose periods are paid; those of a tenant that failed are not included. */
  private async paid(open: readonly Open[], periods: readonly DuePeriod[], ending: AbortSignal): Promise<Open[]> {
    const versions = new Map(open.map(({ tenantNo, version }) => [tenantNo, version]));
    const failed = new Set<number>();
    for (const [tenantNo, version] of versions) {
      const own = periods.filter((period) => period.tenantNo === tenantNo);
      if (own.length === 0 || ending.aborted) continue;
      const paid = await this.pieces.attempt(tenantPiece(tenantNo), ending, (signal) =>
        this.options.payments.pay({ tenantNo, version, periods: own }, signal),
      );
      if (paid?.value !== true) failed.add(tenantNo);
    }
    return open.filter(({ tenantNo }) => !failed.has(tenantNo));
  }
}

const unitMs = ({ unit }: OpenTrigger): number => (unit === 'hours' ? HOUR_MS : DAY_MS);

const periodsOf = (trigger: Open): TriggerPeriods => ({
  tenantNo: trigger.tenantNo,
  triggerNo: trigger.no,
  periodMs: trigger.interval * unitMs(trigger),
  fromMs: trigger.fromMs,
});
