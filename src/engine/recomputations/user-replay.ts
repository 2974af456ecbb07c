/** Replays a user's events under today's rules. */
import type { PoolClient } from 'pg';
import type { PlanTrigger } from '../../catalog/plan.ts';
import { toMicros } from '../../domain/decimal.ts';
import { dayIn } from '../../domain/zone.ts';
import { COMPLETED } from '../../packed/record-fields.ts';
import type { PackedCompletion } from '../../packed/record.ts';
import type { UserState } from '../../packed/state.ts';
import { type FixedAward, type HistoryEvent, importedSums } from '../../postgres/corrections/recomputation-history.ts';
import type { Ledger } from './ledger.ts';
import type { Rules } from './rules.ts';

/** How far the whole part of a sum's peak moved; see `lua/lib/decimals.lua`. */
interface Peaks {
  before: number;
  after: number;
}

/** Something that happened beside the events: a completion by no event that is read, an award that stays. */
type Timed = { atMs: number } & ({ completion: PackedCompletion } | { fixed: FixedAward });

interface UserReplayOptions {
  rules: Rules;
  /** By points system number; none: only counts are wanted. */
  ledgers: readonly Ledger[];
  /** Oldest first. */
  completions: readonly PackedCompletion[];
  /** Oldest first. */
  fixed: readonly FixedAward[];
  /** Nothing is paid for what happened before this local day (epoch day). */
  sinceDay: number;
  /** Where an imported user's events begin; null: they are all here. */
  imported: ImportedPast | null;
  /** The user's zone; null: UTC. */
  tz: string | null;
  /** Whether completions may turn out to be lost: then nothing is paid before `finish`, which says so. */
  mayLose: boolean;
}

/** Something to be paid, for an achievement or for none (0). */
interface Payment {
  ledger: Ledger;
  trigger: PlanTrigger;
  multiples: number;
  day: number;
  achievement: number;
}

const MILLION = 1_000_000n;
const wholeOf = (micros: bigint): number => Number(micros / MILLION);

/**
 * Plays a user's history again by the rules of now: events in the order in which they were applied, then `finish`. In an
 * event metric triggers pay first, then streak and achievement triggers, as in `lua/lib/points.lua`, which owns the rule.
 */
export class UserReplay {
  private readonly options: UserReplayOptions;
  private readonly totals: Map<number, Running>;
  /** Nothing is paid for what happened up to then, epoch ms. */
  private readonly importedMs: number;
  private readonly counts = new Map<number, Running>();
  private readonly byCause = new Map<string, PackedCompletion[]>();
  private readonly paid = new Set<PackedCompletion>();
  private readonly timed: Timed[];
  private next = 0;
  private readonly due: (Payment | FixedAward)[] = [];

  constructor(options: UserReplayOptions) {
    this.options = options;
    this.totals = new Map(
      Array.from(options.imported?.totals ?? [], ([metricNo, running]) => [metricNo, { ...running }]),
    );
    this.importedMs = options.imported?.atMs ?? -Infinity;
    for (const completion of options.completions) {
      const cause = completion[COMPLETED.causedBy];
      if (cause) this.byCause.set(cause, [...(this.byCause.get(cause) ?? []), completion]);
    }
    // Of the same time, what stays comes first: a first sight is paid before the event that it came with.
    this.timed = [
      ...options.fixed.map((fixed) => ({ atMs: fixed.atMs, fixed })),
      ...options.completions.map((completion) => ({ atMs: completion[COMPLETED.atMs], completion })),
    ].toSorted((a, b) => a.atMs - b.atMs);
  }

  /** The next event. */
  event(event: HistoryEvent): void {
    this.passTo(event.atMs);
    const total = add(this.totals, event.metricNo, toMicros(event.value));
    const peaks = new Map([[0, total]]);
    for (const { no, conditions } of this.options.rules.counters.get(event.metricNo) ?? []) {
      const matches = conditions.every(([key, wanted]) => event.attributes?.[key] === wanted);
      if (matches) peaks.set(no, add(this.counts, no, toMicros(event.value)));
    }
    const completed = this.byCause.get(event.id) ?? [];
    for (const completion of completed) this.paid.add(completion);
    const day = event.isDated ? dayIn(this.options.tz, event.atMs) : event.day;
    if (day < this.options.sinceDay || event.atMs <= this.importedMs) return;
    for (const ledger of this.options.ledgers) {
      for (const trigger of ledger.system.metric.get(event.metricNo) ?? [])
        this.pay({ ledger, trigger, multiples: crossed(trigger, peaks), day, achievement: 0 });
      for (const trigger of event.streak === null ? [] : ledger.system.streak)
        if (event.streak! % (trigger.length ?? 1) === 0)
          this.pay({ ledger, trigger, multiples: 1, day, achievement: 0 });
      this.payCompleted(
        ledger,
        completed.map((each) => each[COMPLETED.achievement]),
        day,
      );
    }
  }

  /**
   * What is left after the last event. `gained`: achievements that are completed now, on a local day (epoch day); `lost`: those
   * that pay nothing.
   */
  finish({ gained, lost, day }: { gained: readonly number[]; lost: readonly number[]; day: number }): void {
    this.passTo(Infinity);
    for (const each of this.due) {
      if ('awarded' in each) this.ledgerOf(each.systemNo)?.add(each.awarded);
      else if (!lost.includes(each.achievement)) each.ledger.pay(each.trigger, each.multiples, each.day);
    }
    this.due.length = 0;
    for (const ledger of this.options.ledgers) {
      for (const trigger of ledger.system.achievement)
        if (gained.includes(trigger.achievement ?? 0)) ledger.pay(trigger, 1, day);
    }
  }

  /** The highest that the matching events of an achievement or trigger ever summed up to, in millionths. */
  highestCount(no: number): bigint {
    return this.counts.get(no)?.peak ?? 0n;
  }

  /** What happened beside the events before a time; of the same time, only awards that stay. */
  private passTo(atMs: number): void {
    for (; this.next < this.timed.length; this.next += 1) {
      const item = this.timed[this.next]!;
      const isPast = 'fixed' in item ? item.atMs <= atMs : item.atMs < atMs;
      if (!isPast) return;
      if ('fixed' in item) this.keep(item.fixed);
      else this.complete(item.completion);
    }
  }

  private complete(completion: PackedCompletion): void {
    if (this.paid.has(completion)) return;
    this.paid.add(completion);
    const day = dayIn(this.options.tz, completion[COMPLETED.atMs]);
    if (day < this.options.sinceDay || completion[COMPLETED.atMs] <= this.importedMs) return;
    for (const ledger of this.options.ledgers) this.payCompleted(ledger, [completion[COMPLETED.achievement]], day);
  }

  private pay(payment: Payment): void {
    if (payment.multiples === 0) return;
    if (this.options.mayLose) this.due.push(payment);
    else payment.ledger.pay(payment.trigger, payment.multiples, payment.day);
  }

  private keep(fixed: FixedAward): void {
    if (this.options.mayLose) this.due.push(fixed);
    else this.ledgerOf(fixed.systemNo)?.add(fixed.awarded);
  }

  private payCompleted(ledger: Ledger, completed: readonly number[], day: number): void {
    for (const trigger of ledger.system.achievement)
      for (const no of completed)
        if (no === trigger.achievement) this.pay({ ledger, trigger, multiples: 1, day, achievement: no });
  }

  private ledgerOf(systemNo: number): Ledger | undefined {
    return this.options.ledgers.find(({ system }) => system.no === systemNo);
  }
}

function add(sums: Map<number, Running>, no: number, micros: bigint): Peaks {
  const running = sums.get(no) ?? { sum: 0n, peak: 0n };
  const before = wholeOf(running.peak);
  running.sum += micros;
  if (running.sum > running.peak) running.peak = running.sum;
  sums.set(no, running);
  return { before, after: wholeOf(running.peak) };
}

/** How many multiples of the threshold are newly crossed, as `lua/lib/points.lua` says it. */
function crossed({ no, counted, threshold = 1 }: PlanTrigger, peaks: ReadonlyMap<number, Peaks>): number {
  const peak = peaks.get(counted ? no : 0);
  return peak === undefined ? 0 : Math.floor(peak.after / threshold) - Math.floor(peak.before / threshold);
}

/** A sum over history, and the highest that it ever was, in millionths. */
interface Running {
  sum: bigint;
  peak: bigint;
}

/** What a user brought along: it stays, and pays nothing again. */
export interface ImportedPast {
  /** When, epoch ms: awards and completions up to then are those of elsewhere. */
  atMs: number;
  /** By metric number: the totals with which events began here. */
  totals: ReadonlyMap<number, Running>;
}

/**
 * The pasts of those users who were imported. The total at the end of the import is what there is now without the events since:
 * the imported days may come to less. Filtered counts begin at 0, as the import had them.
 */
export async function importedPasts(
  client: PoolClient,
  {
    tenantNo,
    users,
    metricNos,
  }: { tenantNo: number; users: ReadonlyMap<string, UserState>; metricNos: readonly number[] },
): Promise<Map<string, ImportedPast>> {
  const pasts = new Map<string, ImportedPast>();
  const ids = [...users].filter(([, { importedMs }]) => importedMs !== null).map(([id]) => id);
  if (ids.length === 0) return pasts;
  const sums = new Map<string, { since: string; above: string }>();
  for (const { userId, metricNo, ...sum } of await importedSums(client, { tenantNo, ids, metricNos }))
    sums.set(`${metricNo} ${userId}`, sum);
  for (const id of ids) {
    const { importedMs, totals: now } = users.get(id)!;
    const totals = new Map<number, Running>();
    for (const metricNo of metricNos) {
      const { since, above } = sums.get(`${metricNo} ${id}`) ?? { since: '0', above: '0' };
      const sum = toMicros(now[metricNo] ?? '0') - toMicros(since);
      const highest = sum + toMicros(above);
      totals.set(metricNo, { sum, peak: highest > 0n ? highest : 0n });
    }
    pasts.set(id, { atMs: importedMs!, totals });
  }
  return pasts;
}
