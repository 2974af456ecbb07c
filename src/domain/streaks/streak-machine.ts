import type { Micros } from '../decimal.ts';
import { dateOf, dayOf, type Frequency, periodEnd, periodOf, periodStart, type WeekStart } from '../periods.ts';
import {
  type EarlierSettlementRule,
  type FreezeGain,
  FREQUENCIES,
  type Settlement,
  settleStreaks,
  type StreaksAsLeft,
  type StreakSettlementRule,
} from './settle.ts';
import type { StreakAsLeft } from './streak.ts';

/** Moves streaks forward step by step, as the scripts do. `test/model` implements the same rules independently. */

/** The sums that meet a period, of all metrics or any. Without metrics, any positive event does. */
export interface MeetingRule {
  on: boolean;
  all: boolean;
  metrics: readonly { metricNo: number; needed: Micros }[];
}

/** A streak with the progress of its current period; `null` before the first event. */
export interface RunningStreak extends StreakAsLeft {
  extendedMs: number | null;
  currentPeriod: number | null;
  /** Metric number → sum of values in the current period. */
  sums: ReadonlyMap<number, Micros>;
}

/** Something that happened to a user, with its time (epoch ms) and local day (epoch day). */
export type StreakStep = { atMs: number; day: number } & (
  | { do: 'event'; metricNo: number; value: Micros }
  /** An administrator gave or took freezes. */
  | { do: 'freeze'; count: number }
  | { do: 'reset' }
  | { do: 'restore'; frequency: Frequency }
  /** A change of time zone moved the user's current day forward. */
  | { do: 'move'; to: number }
);

/** Facts that stay the same during a run. */
export interface StreakSurroundings extends Pick<StreaksAsLeft, 'createdMs' | 'dayAt' | 'pauses' | 'isDayOff'> {
  rule: StreakSettlementRule;
  /** Previous rules, oldest first, with the last local day that began under each. */
  earlier: readonly EarlierSettlementRule[];
  meeting: MeetingRule;
  maxFreezes: number;
  /** Streaks that ended before the run. */
  endedBefore: readonly Settlement[];
  /** Times of recorded resets, which decide resets before the counting frequency begins. */
  resetsMade: ReadonlySet<number>;
}

export const NO_STREAK: RunningStreak = {
  length: 0,
  startDay: null,
  lastPeriod: null,
  extendedMs: null,
  currentPeriod: null,
  sums: new Map(),
};

/** Each frequency takes part from its `begin` on. Steps must come in order of time. */
export class StreakMachine {
  readonly streaks: Record<Frequency, RunningStreak> = { daily: NO_STREAK, weekly: NO_STREAK, monthly: NO_STREAK };
  freezes = 0;
  earnedDay: number | null = null;
  readonly settlements: Settlement[] = [];
  gains: (FreezeGain & { kind: 'earned' | 'given'; atMs?: number })[] = [];
  /** Lengths that extensions of the counting streak reached, in order. */
  readonly reached: number[] = [];
  readonly most: Record<Frequency, number> = { daily: 0, weekly: 0, monthly: 0 };
  private readonly around: StreakSurroundings;
  private readonly begun = new Set<Frequency>();
  private day: number;

  constructor(around: StreakSurroundings, day: number) {
    this.around = around;
    this.day = day;
  }

  /** Starts a frequency on `day`, the first day of a period. */
  begin(frequency: Frequency, day: number, streak: StreakAsLeft): void {
    this.settleTo(day);
    this.streaks[frequency] = { ...NO_STREAK, ...streak };
    this.begun.add(frequency);
  }

  settleTo(day: number): void {
    if (day <= this.day) return;
    const { rule, earlier } = this.around;
    const { streaks, freezes, earnedDay } = this;
    const settled = settleStreaks({ ...this.around, streaks, freezes, earnedDay }, rule, day, earlier);
    for (const frequency of FREQUENCIES)
      this.streaks[frequency] = { ...streaks[frequency], ...settled.streaks[frequency] };
    this.freezes = settled.freezes;
    this.earnedDay = settled.earnedDay;
    this.settlements.push(...settled.settlements);
    this.gains.push(...settled.gains.map((gain) => ({ kind: 'earned' as const, ...gain })));
    this.day = day;
  }

  take(step: StreakStep): void {
    this.settleTo(step.day);
    switch (step.do) {
      case 'event':
        for (const frequency of this.begun) this.count(frequency, step);
        return;
      case 'freeze':
        this.give(step);
        return;
      case 'reset':
        this.reset(step);
        return;
      case 'restore':
        this.restore(step.frequency, step);
        return;
      case 'move':
        this.move(step.day, step.to);
    }
  }

  private periodOf(day: number, frequency: Frequency): number {
    return periodOf(day, frequency, this.around.rule.weekStart);
  }

  private endOf(period: number, frequency: Frequency): number {
    return periodEnd(period, frequency, this.around.rule.weekStart);
  }

  /** Same rule as `extendStreaks` in `src/rules/streaks.ts`. */
  private count(frequency: Frequency, { atMs, day, metricNo, value }: Extract<StreakStep, { do: 'event' }>): void {
    const { meeting, rule } = this.around;
    if (!meeting.on) return;
    const streak = this.streaks[frequency];
    const own = this.periodOf(day, frequency);
    const isNew = (streak.currentPeriod ?? -1) < own;
    const period = isNew ? own : streak.currentPeriod!;
    const sums = new Map(isNew ? [] : streak.sums);
    if (meeting.metrics.some((metric) => metric.metricNo === metricNo))
      sums.set(metricNo, (sums.get(metricNo) ?? 0n) + value);
    const counted = { ...streak, currentPeriod: period, sums };
    const met = (streak.lastPeriod ?? -1) < period && isMet(meeting, sums, value);
    if (met) this.most[frequency] = Math.max(this.most[frequency], streak.length + 1);
    if (met && frequency === rule.frequency) this.reached.push(streak.length + 1);
    this.streaks[frequency] = !met
      ? counted
      : {
          ...counted,
          length: streak.length + 1,
          startDay: streak.length === 0 ? periodStart(own, frequency, rule.weekStart) : streak.startDay,
          lastPeriod: period,
          extendedMs: atMs,
        };
  }

  /** Same rule as `giveFreeze` in `src/rules/streak-changes.ts`. Respects the maximum. */
  private give({ atMs, day, count }: Extract<StreakStep, { do: 'freeze' }>): void {
    const most = Math.max(this.freezes, this.around.maxFreezes);
    const given = Math.max(-this.freezes, Math.min(count, most - this.freezes));
    if (given === 0) return;
    this.freezes += given;
    this.gains.push({ kind: 'given', day, count: given, atMs });
  }

  /** Same rule as `reset` in `src/rules/streak-changes.ts`. */
  private reset({ atMs, day }: StreakStep): void {
    const { frequency: counting } = this.around.rule;
    const { resetsMade } = this.around;
    if (this.begun.has(counting) ? this.streaks[counting].length === 0 : !resetsMade.has(atMs)) return;
    for (const frequency of this.begun) {
      const streak = this.streaks[frequency];
      if (streak.length === 0) continue;
      this.end(frequency, 'reset', atMs);
      const current = this.periodOf(day, frequency);
      const usedUp = (streak.lastPeriod ?? -1) >= current && { lastPeriod: current - 1, sums: new Map() };
      this.streaks[frequency] = { ...streak, length: 0, startDay: null, ...usedUp };
    }
  }

  /** Same rule as `restore` in `src/rules/streak-changes.ts`. */
  private restore(frequency: Frequency, { atMs, day }: StreakStep): void {
    if (!this.begun.has(frequency)) return;
    const { rule, endedBefore } = this.around;
    const since = restoreWindowStart(day, { frequency, weekStart: rule.weekStart });
    const streak = this.streaks[frequency];
    const best = [...endedBefore, ...this.settlements]
      .filter(({ frequency: of, kind, to }) => of === frequency && (kind === 'lost' || kind === 'reset') && to >= since)
      .reduce<Settlement | null>((most, one) => ((one.length ?? 0) >= (most?.length ?? 0) ? one : most), null);
    const length = best?.length ?? 0;
    if (best === null || length <= streak.length) return;
    if (streak.length > 0) this.end(frequency, 'replaced', atMs);
    const current = this.periodOf(day, frequency);
    const had = best.to >= periodStart(current, frequency, rule.weekStart);
    const lastPeriod = Math.max(streak.lastPeriod ?? -1, had ? current : current - 1);
    this.streaks[frequency] = { ...streak, length, startDay: best.from, lastPeriod };
    this.settlements.push({ frequency, kind: 'restored', from: best.from, to: day, length, atMs });
  }

  private end(frequency: Frequency, kind: 'reset' | 'replaced', atMs: number): void {
    const { startDay, lastPeriod, length } = this.streaks[frequency];
    const to = this.endOf(lastPeriod ?? -1, frequency);
    this.settlements.push({ frequency, kind, from: startDay!, to, length, atMs });
  }

  /** Same rule as `moveStreaks` in `src/rules/streaks.ts`. */
  private move(from: number, to: number): void {
    for (const frequency of this.begun) {
      const streak = this.streaks[frequency];
      const [before, after] = [this.periodOf(from, frequency), this.periodOf(to, frequency)];
      if (after <= before) continue;
      const last = streak.lastPeriod ?? -1;
      const kept = frequency === 'daily' ? Math.min(last + after - before, after) : after - 1;
      this.streaks[frequency] = {
        ...streak,
        ...(streak.length > 0 && { lastPeriod: Math.max(last, kept) }),
        ...(frequency === 'daily' && streak.currentPeriod === before && { currentPeriod: after }),
      };
    }
  }
}

function isMet({ all, metrics }: MeetingRule, sums: ReadonlyMap<number, Micros>, value: Micros): boolean {
  if (metrics.length === 0) return value > 0n;
  const reached = ({ metricNo, needed }: MeetingRule['metrics'][number]): boolean => {
    const sum = sums.get(metricNo);
    return sum !== undefined && sum >= needed;
  };
  return all ? metrics.every(reached) : metrics.some(reached);
}

const WINDOW_DAYS = 90;

/** First day from which a lost streak can be restored: 90 days back; weekly: 1 January; monthly: January before. */
export function restoreWindowStart(
  day: number,
  { frequency, weekStart }: { frequency: Frequency; weekStart: WeekStart },
): number {
  if (frequency === 'daily') return day - WINDOW_DAYS;
  const year = Number(dateOf(day).slice(0, 4));
  const firstDay = dayOf(`${frequency === 'weekly' ? year : year - 1}-01-01`);
  return periodStart(periodOf(firstDay, frequency, weekStart), frequency, weekStart);
}
