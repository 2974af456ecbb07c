import type { PoolClient } from 'pg';
import { type Decimal, decimalOfMicros, microsOf, toMicros, ZERO } from '../../domain/decimal.ts';
import { dayIn } from '../../domain/zone.ts';
import { COMPLETED } from '../../packed/record-fields.ts';
import type { PackedCompletion } from '../../packed/record.ts';
import { type FixedAward, type HistoryEvent, importedSums } from '../../postgres/corrections/recomputation-history.ts';
import type { PlanTrigger } from '../../rules/plan.ts';
import { climbLevels, firings, type Occasion } from '../../rules/points.ts';
import type { Peaks } from '../../rules/sums.ts';
import type { User } from '../../rules/user.ts';
import type { HistoryLedger } from './ledger.ts';
import type { Rules } from './rules.ts';
import { addTo } from '../../grouped.ts';

/** Something other than an event: a completion that no replayed event caused, or an award that stays. */
type Timed = { atMs: number } & ({ completion: PackedCompletion } | { fixed: FixedAward });

interface UserReplayOptions {
  rules: Rules;
  user: User;
  /** Those of `rules.systems`; empty if only counts are needed. */
  ledgers: readonly HistoryLedger[];
  completions: readonly PackedCompletion[];
  /** Oldest first. */
  fixed: readonly FixedAward[];
  /** Nothing before this local day (epoch day) is paid. */
  sinceDay: number;
  /** The totals at which an imported user's events begin; `null` if all events are here. */
  imported: ImportedPast | null;
  /** Whether completions may turn out to be lost. Then nothing is paid before `finish`, which names the lost ones. */
  mayLose: boolean;
}

/** A payment for a completion, or for none. */
interface Payment {
  ledger: HistoryLedger;
  trigger: PlanTrigger;
  times: number;
  day: number;
  completion: PackedCompletion | null;
}

const MILLION = 1_000_000n;
const wholeOf = (micros: bigint): number => Number(micros / MILLION);

/** Replays a user's history by the current rules: events in the order in which they were applied, then `finish`. */
export class UserReplay {
  private readonly options: UserReplayOptions;
  private readonly totals: Map<number, Running>;
  /** Nothing up to this time (epoch ms) is paid. */
  private readonly importedMs: number;
  private readonly counts = new Map<number, Running>();
  /** By number and period of a repeating achievement. */
  private readonly periods = new Map<string, QuestPeriod & Running>();
  private readonly byCause = new Map<string, PackedCompletion[]>();
  private readonly paid = new Set<PackedCompletion>();
  private readonly timed: Timed[];
  private next = 0;
  private readonly due: (Payment | FixedAward | { levelsOn: number })[] = [];
  private readonly paysLevels: boolean;
  /** Numbers of the levels that the user has reached. */
  private readonly levels: Set<number>;
  /** The last award whose levels are not paid yet, because more may belong to the same change. */
  private open: { atMs: number; day: number } | null = null;

  constructor(options: UserReplayOptions) {
    this.options = options;
    this.totals = new Map(
      Array.from(options.imported?.totals ?? [], ([metricNo, running]) => [metricNo, { ...running }]),
    );
    this.importedMs = options.imported?.atMs ?? -Infinity;
    for (const completion of options.completions) {
      const cause = completion[COMPLETED.causedBy];
      if (cause) addTo(this.byCause, cause, completion);
    }
    this.paysLevels = options.ledgers.some(({ system }) => (system.level ?? []).length > 0);
    this.levels = new Set(
      [...options.user.paidMs]
        .filter(
          ([, atMs]) => atMs > 0 && (atMs <= this.importedMs || dayIn(options.user.zone, atMs) < options.sinceDay),
        )
        .map(([no]) => no),
    );
    // At the same time, fixed awards come first: a user's creation is paid before the event that caused it.
    this.timed = [
      ...options.fixed.map((fixed) => ({ atMs: fixed.atMs, fixed })),
      ...options.completions.map((completion) => ({ atMs: completion[COMPLETED.atMs], completion })),
    ].toSorted((a, b) => a.atMs - b.atMs);
  }

  event(event: HistoryEvent): void {
    this.passTo(event.atMs);
    const { rules, user, sinceDay } = this.options;
    const value = toMicros(event.value);
    const total = add(this.totals, event.metricNo, value);
    const counts = new Map<number, Peaks>();
    for (const { no, conditions } of rules.counters.get(event.metricNo) ?? []) {
      const matches = conditions.every(([key, wanted]) => event.attributes?.[key] === wanted);
      if (matches) counts.set(no, add(this.counts, no, value));
    }
    for (const { no, periodOf, counts: isCounted } of rules.quests.get(event.metricNo) ?? []) {
      if (!isCounted(event.attributes)) continue;
      const period = periodOf(event.day);
      if (period === null) continue;
      const name = `${no} ${period}`;
      const running = this.periods.get(name) ?? { no, period, sum: 0n, peak: 0n };
      this.periods.set(name, running);
      raise(running, value);
    }
    const completed = this.byCause.get(event.id) ?? [];
    for (const completion of completed) this.paid.add(completion);
    const day = event.isDated ? dayIn(user.zone, event.atMs) : event.day;
    if (day < sinceDay || event.atMs <= this.importedMs) return;
    const reached = { is: event.streak === null ? [] : [event.streak], was: [] };
    this.pay({ day, total, counts, reached }, completed, rules.systemsOf.get(event.metricNo));
    this.open = { atMs: event.atMs, day };
    this.payLevels();
  }

  /** Pays the rest. `gained`: numbers of achievements completed now, on `day` (epoch day). `lost`: pay nothing. */
  finish(gained: readonly number[], lost: ReadonlySet<PackedCompletion>, day: number): void {
    this.passTo(Infinity);
    this.payLevels();
    for (const each of this.due) {
      if ('levelsOn' in each) this.reachLevels(each.levelsOn);
      else if ('awarded' in each) this.ledgerOf(each.systemNo)?.add(each.awarded);
      else if (each.completion === null || !lost.has(each.completion))
        each.ledger.pay(each.trigger, each.times, each.day);
    }
    this.due.length = 0;
    payGained(this.options.ledgers, this.options.user, gained, day);
    this.reachLevels(day);
  }

  /** The periods of repeating achievements with the highest sums that their events ever reached, in millionths. */
  highestSums(): readonly (QuestPeriod & { peak: bigint })[] {
    return [...this.periods.values()];
  }

  /** The highest sum that an achievement's or trigger's matching events ever reached. */
  highestCount(no: number): Decimal {
    return decimalOfMicros(this.counts.get(no)?.peak ?? 0n);
  }

  /** Handles everything other than events before a time and, at that same time, fixed awards. */
  private passTo(atMs: number): void {
    for (; this.next < this.timed.length; this.next += 1) {
      const item = this.timed[this.next]!;
      const isPast = 'fixed' in item ? item.atMs <= atMs : item.atMs < atMs;
      if (!isPast) break;
      if (this.open !== null && item.atMs > this.open.atMs) this.payLevels();
      if ('fixed' in item) this.keep(item.fixed);
      else this.complete(item.completion);
      this.open = { atMs: item.atMs, day: dayIn(this.options.user.zone, item.atMs) };
    }
    if (this.open !== null && atMs > this.open.atMs) this.payLevels();
  }

  /** Pays for the levels to which the last change led. */
  private payLevels(): void {
    const { open } = this;
    this.open = null;
    if (open === null || !this.paysLevels) return;
    if (this.options.mayLose) this.due.push({ levelsOn: open.day });
    else this.reachLevels(open.day);
  }

  private reachLevels(day: number): void {
    const { ledgers, user } = this.options;
    climbLevels(ledgers, user, this.levels, (ledger, trigger, times) => {
      ledger.pay(trigger, times, day);
      return true;
    });
    for (const ledger of ledgers) ledger.levelsArePaid();
  }

  private complete(completion: PackedCompletion): void {
    if (this.paid.has(completion)) return;
    this.paid.add(completion);
    const day = dayIn(this.options.user.zone, completion[COMPLETED.atMs]);
    if (day < this.options.sinceDay || completion[COMPLETED.atMs] <= this.importedMs) return;
    this.pay({ ...NO_EVENT, day }, [completion]);
  }

  private pay(
    occasion: Omit<Occasion, 'completed'>,
    completions: readonly PackedCompletion[],
    systems = this.options.rules.systems,
  ): void {
    const { ledgers, user, mayLose } = this.options;
    const { day } = occasion;
    const completed = completions.map((each) => each[COMPLETED.achievement]);
    for (const [index, ledger] of ledgers.entries())
      for (const { trigger, times } of firings(systems[index]!, user, { ...occasion, completed })) {
        const completion = completions.find((each) => each[COMPLETED.achievement] === trigger.achievement) ?? null;
        if (mayLose) this.due.push({ ledger, trigger, times, day, completion });
        else ledger.pay(trigger, times, day);
      }
  }

  private keep(fixed: FixedAward): void {
    if (this.options.mayLose) this.due.push(fixed);
    else this.ledgerOf(fixed.systemNo)?.add(fixed.awarded);
  }

  private ledgerOf(systemNo: number): HistoryLedger | undefined {
    return this.options.ledgers.find(({ system }) => system.no === systemNo);
  }
}

const NO_EVENT = { total: null, counts: new Map<number, Peaks>(), reached: { is: [], was: [] } };

/** Pays the triggers for completions on a day (epoch day), each on its own. `gained`: numbers of achievements. */
export function payGained(ledgers: readonly HistoryLedger[], user: User, gained: readonly number[], day: number): void {
  for (const ledger of ledgers)
    for (const { trigger, times } of firings(ledger.system, user, { ...NO_EVENT, day, completed: gained }))
      ledger.pay(trigger, times, day);
}

function raise(running: Running, micros: bigint): void {
  running.sum += micros;
  if (running.sum > running.peak) running.peak = running.sum;
}

function add(sums: Map<number, Running>, no: number, micros: bigint): Peaks {
  const running = sums.get(no) ?? { sum: 0n, peak: 0n };
  const before = wholeOf(running.peak);
  raise(running, micros);
  sums.set(no, running);
  return { before, after: wholeOf(running.peak) };
}

/** A period of a repeating achievement. */
export interface QuestPeriod {
  no: number;
  period: number;
}

interface Running {
  sum: bigint;
  peak: bigint;
}

/** An imported user's previous history: it stays, and pays nothing again. */
export interface ImportedPast {
  /** Time of the import (epoch ms): awards and completions up to it come from elsewhere. */
  atMs: number;
  /** By metric number: the totals at which events begin here. */
  totals: ReadonlyMap<number, Running>;
}

/**
 * The imported histories of those users who have one. A total at the import is the current one minus the events since,
 * because the imported days may sum to less. Filtered counts begin at 0, as in the import.
 */
export async function importedPasts(
  client: PoolClient,
  tenantNo: number,
  users: ReadonlyMap<string, User>,
  metricNos: readonly number[],
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
      const sum = microsOf(now.get(metricNo) ?? ZERO) - toMicros(since);
      const highest = sum + toMicros(above);
      totals.set(metricNo, { sum, peak: highest > 0n ? highest : 0n });
    }
    pasts.set(id, { atMs: importedMs!, totals });
  }
  return pasts;
}
