import {
  dateOf,
  dayOf,
  FREQUENCIES,
  type Frequency,
  periodEnd,
  periodOf,
  periodStart,
  type WeekStart,
} from '../domain/periods.ts';
import type { Settlement } from '../domain/streaks/settle.ts';
import { STREAK_REFUSAL } from '../packed/refusal-fields.ts';
import type { StreakRefusal } from '../packed/record.ts';
import { type ScoreChange, scoreBoards } from './leaderboards.ts';
import type { Plan } from './plan.ts';
import { admit } from './profile.ts';
import { isRefusal, type Refusal } from './refusal.ts';
import {
  type BesideStreaks,
  firstDayIn,
  frequencyOf,
  joinSettlements,
  type LocalDay,
  localDayOf,
  periodIn,
  type Settlements,
  settleUser,
  weekStartIn,
} from './streaks.ts';
import { dayOfUser, type Pause, type Streak, type User } from './user.ts';

/*
 * Administrators' changes to a user's streaks. The streaks are settled first. `streak-machine.ts` repeats them in replays.
 */

/** A streak that ended: its length, and its first and last day (epoch days). */
export interface EndedStreak {
  length: number;
  from: number;
  to: number;
}

export type StreakChange =
  /** Gives a freeze to a user who has fewer than `max`. */
  | { kind: 'freeze'; max: number }
  | { kind: 'pause' | 'unpause'; pause: Pause }
  | { kind: 'reset' }
  /** Restores the longest streak lost on or after the day `since`. `lost`: the longest that Postgres knows; `null` for none. */
  | { kind: 'restore'; lost: EndedStreak | null; since: number };

/** What a change did. The user has been changed in place. */
export interface StreakOutcome {
  day: number;
  settlements: Settlements;
  /** A freeze that was given; `null` for none. */
  given: BesideStreaks | null;
  /** The pause that was created or cut; `null` for none. */
  pause: Pause | null;
  scores: ScoreChange[];
}

interface Around {
  row: LocalDay;
  plan: Plan;
  outcome: StreakOutcome;
}

/** Most pauses of a user that are not over. */
const MOST_PAUSES = 100;

/** Changes a user's streaks. `plan`: of no metric. */
export function changeStreaks(user: User, change: StreakChange, plan: Plan, nowMs: number): StreakOutcome | Refusal {
  const admission = admit(user, null, plan, nowMs);
  if (isRefusal(admission)) return admission;
  const day = dayOfUser(user, nowMs);
  const row = localDayOf(plan, day);
  const settled = settleUser(user, plan.streak, row, admission.left);
  const settlements = joinSettlements({ streaks: [], beside: [] }, settled)!;
  const outcome: StreakOutcome = { day, settlements, given: null, pause: null, scores: [] };
  const why = apply(user, change, { row, plan, outcome });
  if (why !== null) return { refusal: 'unchanged', why, day };
  const { changes } = scoreBoards(user, {
    plan,
    nowMs,
    day,
    second: Math.floor(nowMs / 1000) + (user.offsetSeconds ?? 0) - day * 86_400,
    ledgers: [],
    length: user.streaks[frequencyOf(plan.streak)].length,
    event: null,
  });
  return { ...outcome, scores: changes };
}

/** Returns the reason for which nothing changed; `null` if something did. */
function apply(user: User, change: StreakChange, around: Around): StreakRefusal | null {
  switch (change.kind) {
    case 'freeze':
      return giveFreeze(user, change.max, around);
    case 'pause':
      return addPause(user, change.pause, around);
    case 'unpause':
      return endPause(user, change.pause, around);
    case 'reset':
      return reset(user, around);
    case 'restore':
      return restore(user, change, around);
  }
}

function giveFreeze(user: User, max: number, { row: { day }, outcome }: Around): StreakRefusal | null {
  if (addFreezes(user, 1, max) === 0) return STREAK_REFUSAL.full;
  outcome.given = { kind: 'given', day, count: 1 };
  return null;
}

/** Gives freezes up to a maximum, or takes them with a negative count. Returns how many. */
export function addFreezes(user: Pick<User, 'freezes'>, count: number, max: number): number {
  const most = Math.max(user.freezes, max);
  const added = Math.max(-user.freezes, Math.min(count, most - user.freezes));
  user.freezes += added;
  return added;
}

/** Creates a pause. It must not begin before today nor overlap another one. */
function addPause(user: User, pause: Pause, { row, outcome }: Around): StreakRefusal | null {
  if (pause.from < row.day) return STREAK_REFUSAL.past;
  if (user.pauses.some(({ from, to }) => from <= pause.to && to >= pause.from)) return STREAK_REFUSAL.overlap;
  if (user.pauses.length >= MOST_PAUSES) return STREAK_REFUSAL.many;
  user.pauses = [...user.pauses, pause].toSorted((a, b) => a.from - b.from);
  outcome.pause = pause;
  return null;
}

/** Deletes a pause. Its past days stay paused; today does not. */
function endPause(user: User, pause: Pause, { row: { day }, outcome }: Around): StreakRefusal | null {
  const kept = user.pauses.find(({ id }) => id === pause.id);
  if ((kept === undefined || kept.to < day) && pause.to >= day) return STREAK_REFUSAL.gone;
  if (kept === undefined) {
    outcome.pause = pause;
    return null;
  }
  const cut = { ...kept, to: Math.min(kept.to, day - 1) };
  user.pauses = user.pauses.flatMap((each) => (each !== kept ? [each] : cut.to < cut.from ? [] : [cut]));
  outcome.pause = cut;
  return null;
}

function reset(user: User, { row, plan, outcome }: Around): StreakRefusal | null {
  if (user.streaks[frequencyOf(plan.streak)].length === 0) return STREAK_REFUSAL.idle;
  outcome.settlements.streaks.push(...endStreaks(user, row));
  return null;
}

/** Ends the streaks as if they were lost now. A period that is already met is used up: later activity starts the next streak. */
export function endStreaks({ streaks }: Pick<User, 'streaks'>, row: LocalDay): Settlement[] {
  const ended: Settlement[] = [];
  for (const frequency of FREQUENCIES) {
    const streak = streaks[frequency];
    if (streak.length === 0) continue;
    ended.push(endOf(streak, { frequency, kind: 'reset', row }));
    streak.length = 0;
    streak.startDay = null;
    const current = periodIn(row, frequency);
    if ((streak.lastPeriod ?? -1) < current) continue;
    streak.lastPeriod = current - 1;
    streak.sums = new Map();
  }
  return ended;
}

/** Also restores streaks that settling has just lost. */
function restore(
  user: User,
  { lost, since }: StreakChange & { kind: 'restore' },
  { row, plan, outcome }: Around,
): StreakRefusal | null {
  const { streaks } = outcome.settlements;
  const frequency = frequencyOf(plan.streak);
  const best = longestEnded(streaks, { frequency, since, lost });
  const restored = restoreStreak(user.streaks[frequency], best, frequency, row);
  streaks.push(...restored);
  return restored.length === 0 ? STREAK_REFUSAL.none : null;
}

/** The longest streak that was lost or reset since a day; of equal lengths the latest. `lost`: an earlier one. */
export function longestEnded(
  settlements: readonly Settlement[],
  { frequency, since, lost }: { frequency: Frequency; since: number; lost: EndedStreak | null },
): EndedStreak | null {
  let best = lost;
  for (const { frequency: of, kind, from, to, length } of settlements)
    if (of === frequency && (kind === 'lost' || kind === 'reset') && to >= since && length! >= (best?.length ?? 0))
      best = { length: length!, from, to };
  return best;
}

/**
 * Restores an ended streak, which replaces the current one if it is longer. If either streak has met the current period, the period stays
 * met; otherwise the user still has to meet it. Returns what happened; nothing if the current streak stays.
 */
export function restoreStreak(
  streak: Streak,
  ended: EndedStreak | null,
  frequency: Frequency,
  row: LocalDay,
): Settlement[] {
  if (ended === null || ended.length <= streak.length) return [];
  const { length, from, to } = ended;
  const replaced = streak.length > 0 ? [endOf(streak, { frequency, kind: 'replaced', row })] : [];
  const current = periodIn(row, frequency);
  const wasMet = to >= firstDayIn(row, frequency);
  streak.length = length;
  streak.startDay = from;
  streak.lastPeriod = Math.max(streak.lastPeriod ?? -1, wasMet ? current : current - 1);
  return [...replaced, { frequency, kind: 'restored', from, to: row.day, length }];
}

function endOf(
  { startDay, lastPeriod, length }: Streak,
  { frequency, kind, row }: { frequency: Frequency; kind: 'reset' | 'replaced'; row: LocalDay },
): Settlement {
  const to = periodEnd(lastPeriod ?? -1, frequency, weekStartIn(row));
  return { frequency, kind, from: startDay ?? -1, to, length };
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
