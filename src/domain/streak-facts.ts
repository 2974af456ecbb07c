import type { Micros } from './micros.ts';
import type { Frequency } from './periods.ts';
import type { FreezeGain, Settlement } from './settle-streaks.ts';
import type { RunningStreak, StreakStep, StreakSurroundings } from './streak-machine.ts';

/** An event that counts, in the user's local time. */
export interface StreakEvent {
  /** 32 hex digits. */
  id: string;
  /** When it happened (epoch ms): `occurredAt` for late events. */
  atMs: number;
  /** The local day to which it belongs (epoch day). */
  day: number;
  metricNo: number;
  value: Micros;
}

/** Everything that determines a user's streaks, read at one moment. */
export interface StreakFacts extends Omit<StreakSurroundings, 'endedBefore' | 'resetsMade'> {
  /** The streaks, settled up to now. `day`: the user's current local day. */
  now: { day: number; streaks: Record<Frequency, RunningStreak>; freezes: number; earnedDay: number | null };
  /** Settlements, oldest first: all that extend to `factsFrom` or later, and all that begin later. */
  settlements: readonly RecordedSettlement[];
  /** Freezes earned or given, oldest first. */
  gains: readonly RecordedGain[];
  /**
   * Administrators' actions on the streaks, including those that a later replay found to have no effect, and changes of zone
   * that moved the user's current day forward. In any order.
   */
  calls: readonly Exclude<StreakStep, { do: 'event' }>[];
  /** Events on and after `factsFrom`, in any order. */
  events: readonly StreakEvent[];
}

/** A recorded settlement. */
export interface RecordedSettlement extends Settlement {
  /** Number of the stored row. */
  no?: string;
  atMs: number;
}

/** Freezes that the user earned, or that an administrator gave. */
export interface RecordedGain extends FreezeGain {
  kind: 'earned' | 'given';
  /** Number of the stored row. */
  no?: string;
  /** Epoch ms. */
  atMs: number;
}
