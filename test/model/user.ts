import type { StreakSettings } from '../../src/domain/fields/tenant-settings.ts';
import type { Frequency, LocalDate, WeekStart } from './calendar.ts';
import type { Streaks } from './streak.ts';
import { sum } from './decimals.ts';
import type { SignUp } from './years.ts';

/** Something that happened, with the user's local time at that moment. */
interface Happened {
  atMs: number;
  date: LocalDate;
  time: string;
}

export interface RecordedEvent extends Happened {
  /** From 1, in the order of all events of all users. */
  no: number;
  metricId: string;
  amount: bigint;
  /** The user's team then; '' for none. */
  team: string;
  attributes: Readonly<Record<string, string>>;
  key: string | null;
  /** On which weeks began then. */
  weekStart: WeekStart;
  /**
   * The periods that it counts for: not before those of the event before. A change of zone moves the day along. Null: none,
   * since streaks were switched off.
   */
  counts: Record<Frequency, LocalDate> | null;
}

/** Points that were spent, or are held until `expiresMs`. */
export interface Spending {
  id: string;
  systemId: string;
  amount: number;
  key: string;
  expiresMs: number | null;
  /** The balance in its answer. */
  balance: number;
  /** What closed it, in order, with the balance in the answer. */
  closed: { how: 'capture' | 'release' | 'refund'; balance: number }[];
}

export const wasClosed = ({ closed }: Spending, by: Spending['closed'][number]['how']): boolean =>
  closed.some(({ how }) => how === by);

/** Whether points of a spending or hold are missing at a time. */
const isOutstanding = (spending: Spending, nowMs: number): boolean => {
  if (wasClosed(spending, 'refund')) return false;
  if (spending.expiresMs === null || wasClosed(spending, 'capture')) return true;
  return !wasClosed(spending, 'release') && spending.expiresMs > nowMs;
};

export interface Award extends Happened {
  systemId: string;
  triggerId: string;
  awarded: number;
  total: number;
  boostIds: string[];
  /** The user's team then; '' for none. */
  team: string;
}

/** The attributes when something counted: on every leaderboard, on those of a points system (by its ID), or of streaks. */
export interface Look extends Happened {
  attributes: Readonly<Record<string, string>>;
  on: 'all' | 'streaks' | { systemId: string };
}

/** An object that an event sent for its entries. */
export type Metadata = { hat: string };

/** All data of a user. Nothing is derived: totals, peaks and scores are computed on demand. */
export interface ModelUser {
  id: string;
  tz: string | null;
  /** By key. */
  attributes: Record<string, string>;
  /**
   * Leaderboards follow changed attributes only when something counts: an event for all, points for those of a system, a
   * length for those of streaks.
   */
  looks: Look[];
  /** What entries on leaderboards show, by leaderboard ID and first day of the run. */
  metadata: Map<string, Metadata>;
  events: RecordedEvent[];
  awards: Award[];
  /** IDs of the levels that were reached while a trigger for levels watched them. */
  levels: string[];
  spendings: Spending[];
  /** The length of the streak as leaderboards show it, by leaderboard ID: from the last evaluation. */
  shown: Map<string, number>;
  /** Achievement ID → epoch ms of the last completion. */
  completed: Map<string, number>;
  /** ID of a repeating achievement → its completed periods. */
  quests: Map<string, Set<string>>;
  streaks: Streaks;
  /** The user's preferences that override the common streak rule. */
  prefers: { enabled?: boolean; evaluationMode?: StreakSettings['evaluationMode'] };
  /** The user's own days off, from a local day on, and those until then; null: the common ones. */
  daysOff: { days: readonly number[]; from: LocalDate; before: readonly number[] | null } | null;
  signUp: SignUp | null;
  /** Has been in another zone before. */
  travelled: boolean;
  /** When weeks began on another day, a week in which the streak waited was cut off, or a begun one is yet to come. */
  weeksShifted: boolean;
}

export const matches = (has: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([key, value]) => has[key] === value);

/** The total of a metric, or only of its events with all the attributes. */
export const totalOf = (user: ModelUser, metricId: string, only: Readonly<Record<string, string>> = {}): bigint =>
  sum(counted(user, metricId, only));

/** The highest total a metric ever had, counting from 0. */
export function peakOf(user: ModelUser, metricId: string, only: Readonly<Record<string, string>>): bigint {
  let total = 0n;
  let peak = 0n;
  for (const amount of counted(user, metricId, only)) {
    total += amount;
    if (total > peak) peak = total;
  }
  return peak;
}

const counted = (user: ModelUser, metricId: string, only: Readonly<Record<string, string>>): bigint[] =>
  user.events
    .filter((event) => event.metricId === metricId && matches(event.attributes, only))
    .map((event) => event.amount);

/** Points spent and not refunded, and points held at a time. */
export const outstanding = (user: ModelUser, systemId: string, nowMs: number): number =>
  user.spendings
    .filter((spending) => spending.systemId === systemId && isOutstanding(spending, nowMs))
    .reduce((sum, { amount }) => sum + amount, 0);

export const pointsOf = (user: ModelUser, systemId: string): number =>
  user.awards.filter((award) => award.systemId === systemId).reduce((total, { awarded }) => total + awarded, 0);
