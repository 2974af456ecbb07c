import type { Micros } from './micros.ts';
import type { Frequency } from './periods.ts';
import type { FreezeGain, Settlement } from './settle-streaks.ts';
import type { RunningStreak, StreakStep, StreakSurroundings } from './streak-machine.ts';

/** An event that counts, where the user lived it. */
export interface StreakEvent {
  /** 32 hex digits. */
  id: string;
  /** When it happened: `occurredAt` of a late one, epoch ms. */
  atMs: number;
  /** The local day that it belongs to (epoch day). */
  day: number;
  metricNo: number;
  value: Micros;
}

/** All that a user's streaks depend on, read as of one moment. */
export interface StreakFacts extends Omit<StreakSurroundings, 'endedBefore' | 'resetsMade'> {
  /** The streaks, settled now: `day` is the user's today. */
  now: { day: number; streaks: Record<Frequency, RunningStreak>; freezes: number; earnedDay: number | null };
  /** What became of the streaks, oldest first: all of those that reached `factsFrom`, and all that began later. */
  settlements: readonly RecordedSettlement[];
  /** The freezes that were earned or given, oldest first. */
  gains: readonly RecordedGain[];
  /**
   * What administrators did to the streaks, also where a replay since found nothing to be done, and the changes of zone that
   * took the user's today on to a later day; in any order.
   */
  calls: readonly Exclude<StreakStep, { do: 'event' }>[];
  /** The events on and after `factsFrom`, in any order. */
  events: readonly StreakEvent[];
}

/** What became of a streak, as it is recorded. */
export interface RecordedSettlement extends Settlement {
  /** Of what is stored: its number. */
  no?: string;
  atMs: number;
}

/** Freezes that a user got: earned by the clock, or given by an administrator. */
export interface RecordedGain extends FreezeGain {
  kind: 'earned' | 'given';
  /** Of what is stored: its number. */
  no?: string;
  /** Epoch ms. */
  atMs: number;
}
