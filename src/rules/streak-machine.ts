import { FREQUENCIES, type Frequency } from '../domain/periods.ts';
import {
  type EarlierSettlementRule,
  type FreezeGain,
  type Settlement,
  settleStreaks,
  type StreaksAsLeft,
  type StreakSettlementRule,
} from '../domain/streaks/settle.ts';
import type { StreakAsLeft } from '../domain/streaks/streak.ts';
import type { Decimal } from '../domain/decimal.ts';
import { addFreezes, endStreaks, longestEnded, restoreStreak, restoreWindowStart } from './streak-changes.ts';
import {
  extendStreak,
  firstDayIn,
  type LocalDay,
  localDayIn,
  type MeetingRule,
  moveStreaks,
  periodIn,
} from './streaks.ts';
import { noStreak, type Streak } from './user.ts';

/*
 * Moves streaks through stored history: applies the rules of `streaks.ts` and `streak-changes.ts` to what happened, in order of time.
 */

/** Something that happened to a user, with its time (epoch ms) and local day (epoch day). */
export type StreakStep = { atMs: number; day: number } & (
  | { do: 'event'; metricNo: number; value: Decimal }
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

/** Each frequency takes part from its `begin` on. Steps must come in order of time. */
export class StreakMachine {
  readonly streaks: Record<Frequency, Streak> = { daily: noStreak(), weekly: noStreak(), monthly: noStreak() };
  freezes = 0;
  earnedDay: number | null = null;
  readonly settlements: Settlement[] = [];
  gains: (FreezeGain & { kind: 'earned' | 'given'; atMs?: number })[] = [];
  /** Lengths that extensions of the counting streak reached, in order. */
  readonly reached: number[] = [];
  /** The same of every frequency, with the local day of the event. */
  readonly extensions: { frequency: Frequency; day: number; length: number }[] = [];
  private readonly around: StreakSurroundings;
  private readonly begun = new Set<Frequency>();
  private day: number;

  constructor(around: StreakSurroundings, day: number) {
    this.around = around;
    this.day = day;
  }

  /** Starts a frequency on `day`, the first day of a period. */
  begin(frequency: Frequency, day: number, { length, startDay, lastPeriod }: StreakAsLeft): void {
    this.settleTo(day);
    this.streaks[frequency] = { ...noStreak(), length, startDay, lastPeriod };
    this.begun.add(frequency);
  }

  settleTo(day: number): void {
    if (day <= this.day) return;
    const { rule, earlier } = this.around;
    const { streaks, freezes, earnedDay } = this;
    const settled = settleStreaks({ ...this.around, streaks, freezes, earnedDay }, rule, day, earlier);
    for (const frequency of FREQUENCIES) Object.assign(streaks[frequency], settled.streaks[frequency]);
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
        moveStreaks(this, this.localDay(step.day), this.localDay(step.to));
    }
  }

  private localDay(day: number): LocalDay {
    return localDayIn(day, this.around.rule.weekStart);
  }

  private count(frequency: Frequency, { atMs, day, metricNo, value }: Extract<StreakStep, { do: 'event' }>): void {
    const { meeting, rule } = this.around;
    if (!meeting.on) return;
    const row = this.localDay(day);
    const streak = this.streaks[frequency];
    const event = { metric: metricNo, value, nowMs: atMs, occurredMs: null };
    const current = { period: periodIn(row, frequency), firstDay: firstDayIn(row, frequency) };
    if (!extendStreak(streak, meeting, event, current)) return;
    this.extensions.push({ frequency, day, length: streak.length });
    if (frequency === rule.frequency) this.reached.push(streak.length);
  }

  private give({ atMs, day, count }: Extract<StreakStep, { do: 'freeze' }>): void {
    const given = addFreezes(this, count, this.around.maxFreezes);
    if (given !== 0) this.gains.push({ kind: 'given', day, count: given, atMs });
  }

  private reset({ atMs, day }: StreakStep): void {
    const { frequency: counting } = this.around.rule;
    const { resetsMade } = this.around;
    if (this.begun.has(counting) ? this.streaks[counting].length === 0 : !resetsMade.has(atMs)) return;
    this.note(endStreaks(this, this.localDay(day)), atMs);
  }

  private restore(frequency: Frequency, { atMs, day }: StreakStep): void {
    if (!this.begun.has(frequency)) return;
    const { rule, endedBefore } = this.around;
    const since = restoreWindowStart(day, { frequency, weekStart: rule.weekStart });
    const ended = longestEnded([...endedBefore, ...this.settlements], { frequency, since, lost: null });
    this.note(restoreStreak(this.streaks[frequency], ended, frequency, this.localDay(day)), atMs);
  }

  private note(settlements: readonly Settlement[], atMs: number): void {
    this.settlements.push(...settlements.map((one) => ({ ...one, atMs })));
  }
}
