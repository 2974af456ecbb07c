import type { Catalog } from '../../src/domain/catalog.ts';
import { dateOf, FREQUENCIES, periodOf } from '../../src/domain/periods.ts';
import {
  type RecordedGain,
  type RecordedSettlement,
  replayStreaks,
  type StreakEvent,
  type StreakFacts,
} from '../../src/rules/streak-replay.ts';
import { StreakMachine, type StreakStep } from '../../src/rules/streak-machine.ts';
import { isDayOff, meetingRule, settlementRule } from '../../src/rules/streaks.ts';
import { compileCatalog } from '../../src/catalog/compiled-catalog.ts';
import { noStreak } from '../../src/rules/user.ts';
import { dayIn } from '../../src/domain/zone.ts';
import { streakHistory } from '../../src/engine/streaks/streak-reads.ts';

/** An administrator's action, at a time. */
export type Call = { atMs: number; n: number } & (
  | { do: 'freeze' | 'reset' | 'restore' }
  | { do: 'pause'; from: number; days: number }
);

/** A user's history as the streak machine records it when it happens, and repairs it when events come late. */
export class ReplayedHistory {
  readonly refused = new Set<number>();
  private readonly catalog: Catalog;
  private readonly tz: string;
  private readonly createdMs: number;
  private pauses: { from: number; to: number }[] = [];
  private facts: StreakFacts;
  exact = true;

  constructor({ catalog, tz, createdMs, endMs, events, calls }: HistoryInput) {
    this.catalog = catalog;
    this.tz = tz;
    this.createdMs = createdMs;
    const steps = [
      ...events.map((event) => ({ do: 'event' as const, ...event, call: null })),
      ...calls.map((call) => ({ atMs: call.atMs, day: this.dayAt(call.atMs), call })),
    ].sort((a, b) => a.atMs - b.atMs);
    const around = this.around();
    const first = this.dayAt(createdMs);
    const { freezes } = catalog.streaks;
    const machine = new StreakMachine(
      { ...around, pauses: this.pauses, endedBefore: [], resetsMade: new Set() },
      Math.min(first, ...steps.map(({ day }) => day)),
    );
    for (const frequency of FREQUENCIES) machine.begin(frequency, first, noStreak());
    machine.freezes = freezes.enabled ? freezes.initial : 0;
    const made: Exclude<StreakStep, { do: 'event' }>[] = [];
    for (const step of steps) {
      machine.settleTo(step.day);
      if (step.call === null) machine.take(step as StreakStep);
      else if (!this.call(machine, step.call, made)) this.refused.add(step.call.n);
    }
    const day = this.dayAt(endMs);
    machine.settleTo(day);
    this.facts = {
      ...around,
      pauses: this.pauses.toSorted((a, b) => a.from - b.from),
      now: { day, streaks: machine.streaks, freezes: machine.freezes, earnedDay: machine.earnedDay },
      settlements: machine.settlements.map((one, at) => ({ atMs: endMs, ...one, no: String(at) })),
      gains: machine.gains.map((gain, at) => ({ atMs: endMs, ...gain, no: `g${at}` })),
      calls: made,
      events,
    };
  }

  private call(machine: StreakMachine, call: Call, made: Exclude<StreakStep, { do: 'event' }>[]): boolean {
    const { freezes, frequency } = this.catalog.streaks;
    const day = this.dayAt(call.atMs);
    const step = { atMs: call.atMs, day };
    const { length } = machine.streaks[frequency];
    switch (call.do) {
      case 'freeze':
        if (!freezes.enabled || machine.freezes >= freezes.max) return false;
        made.push({ do: 'freeze', count: 1, ...step });
        break;
      case 'reset':
        if (length === 0) return false;
        made.push({ do: 'reset', ...step });
        break;
      case 'restore':
        machine.take({ do: 'restore', frequency, ...step });
        if (machine.streaks[frequency].length <= length) return false;
        made.push({ do: 'restore', frequency, ...step });
        return true;
      case 'pause': {
        const from = day + call.from;
        const to = from + call.days;
        if (this.pauses.some((other) => from <= other.to && to >= other.from)) return false;
        this.pauses.push({ from, to });
        this.pauses.sort((a, b) => a.from - b.from);
        return true;
      }
    }
    machine.take(made.at(-1)!);
    return true;
  }

  /** A late event. */
  add(event: StreakEvent): void {
    this.change({ add: [event] });
    this.facts = { ...this.facts, events: [...this.facts.events, event] };
  }

  /** A reversed event. */
  remove(id: string): void {
    this.change({ remove: new Set([id]) });
    this.facts = { ...this.facts, events: this.facts.events.filter((event) => event.id !== id) };
  }

  private change(change: Parameters<typeof replayStreaks>[1]): void {
    const { facts } = this;
    const replay = replayStreaks(facts, change);
    this.exact &&= replay.exact;
    const gone = new Set(replay.superseded);
    const stays = ({ no }: { no?: string }): boolean => no !== undefined && !gone.has(no);
    const named = <T>(one: T): T & { no: string } => ({ ...one, no: String(Math.random()) });
    const atMs = 0;
    this.facts = {
      ...facts,
      now: { ...facts.now, streaks: replay.streaks, freezes: replay.freezes, earnedDay: replay.earnedDay },
      settlements: [
        ...facts.settlements.filter(stays),
        ...replay.settlements.map((one): RecordedSettlement => named({ ...one, atMs: one.atMs ?? atMs })),
      ],
      gains: [...facts.gains.filter(stays), ...replay.gains.map((gain): RecordedGain => named({ atMs, ...gain }))],
    };
  }

  /** A reader's view in the selected frequency; lengths in all. */
  seen(count: number) {
    const { now, settlements, dayAt } = this.facts;
    const { frequency, weekStart, freezes } = this.catalog.streaks;
    const live = now.streaks[frequency];
    return {
      tracks: FREQUENCIES.map((each) => {
        const { length, startDay } = now.streaks[each];
        return [length, startDay === null ? null : dateOf(startDay)];
      }),
      freezes: freezes.enabled ? now.freezes : 0,
      history: streakHistory({
        live,
        settlements: settlements.filter((one) => one.frequency === frequency),
        current: periodOf(now.day, frequency, weekStart),
        count,
        calendar: { frequency, weekStart },
        dayAt,
      }),
    };
  }

  private dayAt(ms: number): number {
    return dayIn(this.tz, ms);
  }

  private around() {
    const { catalog } = this;
    const dayAt = (ms: number): number => this.dayAt(ms);
    const { weekStart, freezes } = catalog.streaks;
    const { streakRule } = compileCatalog(catalog);
    return {
      createdMs: this.createdMs,
      dayAt,
      pauses: [],
      isDayOff: (day: number) => isDayOff(null, streakRule, day, dayAt),
      rule: settlementRule(streakRule, weekStart),
      earlier: [],
      meeting: meetingRule(streakRule, null),
      maxFreezes: freezes.enabled ? freezes.max : 0,
    };
  }
}

interface HistoryInput {
  catalog: Catalog;
  tz: string;
  createdMs: number;
  endMs: number;
  events: readonly StreakEvent[];
  calls: readonly Call[];
}
