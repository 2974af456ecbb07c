import { periodEnd } from '../domain/periods.ts';
import { FREQUENCIES } from '../domain/streaks/settle.ts';
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
import { dayOfUser, type Pause, type User } from './user.ts';

/*
 * Administrators' changes to a user's streaks. The streaks are settled first. `domain/streaks/streak-machine.ts` replays the same rules
 * for late events.
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
export function changeStreaks(
  user: User,
  change: StreakChange,
  { plan, nowMs }: { plan: Plan; nowMs: number },
): StreakOutcome | Refusal {
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
  if (user.freezes >= max) return STREAK_REFUSAL.full;
  user.freezes += 1;
  outcome.given = { kind: 'given', day, count: 1 };
  return null;
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

/** Ends the streaks as if they were lost now. A period that is already met is used up: later activity starts the next streak. */
function reset(user: User, around: Around): StreakRefusal | null {
  const { row, plan } = around;
  if (user.streaks[frequencyOf(plan.streak)].length === 0) return STREAK_REFUSAL.idle;
  for (const frequency of FREQUENCIES) {
    const streak = user.streaks[frequency];
    if (streak.length === 0) continue;
    noteEnd(user, frequency, 'reset', around);
    streak.length = 0;
    streak.startDay = null;
    const current = periodIn(row, frequency);
    if ((streak.lastPeriod ?? -1) < current) continue;
    streak.lastPeriod = current - 1;
    streak.sums = new Map();
  }
  return null;
}

/**
 * Restores the longest streak lost since a day, including those that settling has just lost; of equal lengths the latest. It replaces
 * the current streak. If either streak has met the current period, the period stays met; otherwise the user still has to meet it.
 */
function restore(
  user: User,
  { lost, since }: StreakChange & { kind: 'restore' },
  around: Around,
): StreakRefusal | null {
  const { row, plan, outcome } = around;
  const { streaks } = outcome.settlements;
  const frequency = frequencyOf(plan.streak);
  const streak = user.streaks[frequency];
  let best = lost ?? { length: 0, from: 0, to: 0 };
  for (const { frequency: of, kind, from, to, length } of streaks)
    if (of === frequency && kind === 'lost' && to >= since && length! >= best.length)
      best = { length: length!, from, to };
  if (best.length <= streak.length) return STREAK_REFUSAL.none;
  if (streak.length > 0) noteEnd(user, frequency, 'replaced', around);
  const current = periodIn(row, frequency);
  const wasMet = best.to >= firstDayIn(row, frequency);
  streak.length = best.length;
  streak.startDay = best.from;
  streak.lastPeriod = Math.max(streak.lastPeriod ?? -1, wasMet ? current : current - 1);
  streaks.push({ frequency, kind: 'restored', from: best.from, to: row.day, length: best.length });
  return null;
}

function noteEnd(
  user: User,
  frequency: (typeof FREQUENCIES)[number],
  kind: 'reset' | 'replaced',
  { row, outcome }: Around,
): void {
  const { startDay, lastPeriod, length } = user.streaks[frequency];
  const to = periodEnd(lastPeriod ?? -1, frequency, weekStartIn(row));
  outcome.settlements.streaks.push({ frequency, kind, from: startDay ?? -1, to, length });
}
