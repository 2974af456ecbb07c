import { clamped, type Decimal } from '../domain/decimal.ts';
import { SEASON } from '../domain/repeat.ts';
import { COMPLETED } from '../packed/record-fields.ts';
import type { PackedCompletion } from '../packed/record.ts';
import { QUEST_PERIODS } from '../packed/user-fields.ts';
import { completeAchievements, type GreatestLengths } from './achievements.ts';
import { hasAll, holds } from './conditions.ts';
import type { Plan, PlanQuest } from './plan.ts';
import type { LocalDay } from './streaks.ts';
import { plus, reaches } from './sums.ts';
import type { QuestPeriod, QuestProgress, User } from './user.ts';

/*
 * Repeating achievements: each is completed once a period, when the values of the period's events reach a sum. An event counts in
 * the period of its local day. A user keeps the latest periods with events, so that a user who travels, or whose event comes a
 * little late, finds them again; earlier ones are in Postgres (`src/engine/achievements/quests.ts`).
 */

/** What a change did to a period of a repeating achievement. `completed`: 0 no, 1 by this change, 2 earlier. */
export interface QuestChange extends Decimal {
  achievement: number;
  period: number;
  /** How often the user has completed it. */
  times: number;
  completed: 0 | 1 | 2;
}

/** Number of the period with a local day; `null` outside of the season. */
export function questPeriod(quest: PlanQuest, row: LocalDay): number | null {
  const { from, to, days, first, frequency } = quest;
  const { day } = row;
  if ((from !== undefined && day < from) || (to !== undefined && day > to)) return null;
  if (days !== undefined) return Math.floor((day - first!) / days) + 1;
  if (frequency === undefined) return SEASON;
  return [row.day, row.week, row.month][frequency - 1]!;
}

export function progressOf({ quests }: User, no: number): QuestProgress {
  let progress = quests.get(no);
  if (progress === undefined) quests.set(no, (progress = { times: 0, periods: [] }));
  return progress;
}

export const keptPeriod = ({ quests }: User, no: number, period: number): QuestPeriod | undefined =>
  quests.get(no)?.periods.find((each) => each.period === period);

/** The period, added if it is among the latest; `null` if the user no longer keeps it. */
function keepPeriod(user: User, no: number, period: number): QuestPeriod | null {
  const kept = keptPeriod(user, no, period);
  if (kept !== undefined) return kept;
  const older = user.quests.get(no)?.periods.findIndex((each) => each.period < period) ?? -1;
  const place = older === -1 ? (user.quests.get(no)?.periods.length ?? 0) : older;
  if (place >= QUEST_PERIODS.most) return null;
  const added: QuestPeriod = { period, whole: 0, micros: 0, done: false };
  const { periods } = progressOf(user, no);
  periods.splice(place, 0, added);
  periods.length = Math.min(periods.length, QUEST_PERIODS.most);
  return added;
}

/** Adds a completion. `period`: the one that it fulfils, if known. Returns whether it is the user's first. */
export function addCompletion(user: User, no: number, period: QuestPeriod | null, atMs: number): boolean {
  if (period !== null) period.done = true;
  progressOf(user, no).times += 1;
  const latest = user.completions.get(no);
  user.completions.set(no, Math.max(latest ?? 0, atMs));
  return latest === undefined;
}

/** Takes a completion away. `latest`: time of the user's latest other one. Returns whether it was the only one. */
export function removeCompletion(user: User, completion: PackedCompletion, latest: number | undefined): boolean {
  const no = completion[COMPLETED.achievement];
  const hadIt = user.completions.has(no);
  const kept = keptPeriod(user, no, completion[COMPLETED.period]!);
  if (kept !== undefined) kept.done = false;
  const progress = progressOf(user, no);
  progress.times = Math.max(progress.times - 1, 0);
  if (progress.times === 0) user.completions.delete(no);
  else if (user.completions.get(no) === completion[COMPLETED.atMs] && latest !== undefined)
    user.completions.set(no, latest);
  return hadIt && progress.times === 0;
}

/** The quests' part of one change. */
export interface QuestOutcome {
  /** Numbers of achievements completed. */
  completed: number[];
  quests: QuestChange[];
}

/** Completes a period if its sum suffices and the user meets the conditions and has what it requires. */
function settlePeriod(
  quest: PlanQuest,
  user: User,
  { sum, nowMs, outcome }: { sum: QuestPeriod; nowMs: number; outcome: QuestOutcome },
): QuestChange {
  let completed: QuestChange['completed'] = sum.done ? 2 : 0;
  const isDue = !sum.done && reaches(sum, quest) && holds(quest.users, user);
  if (isDue && (quest.requires === undefined || hasAll(user, quest.requires))) {
    addCompletion(user, quest.no, sum, nowMs);
    completed = 1;
    outcome.completed.push(quest.no);
  }
  const { times } = progressOf(user, quest.no);
  return { achievement: quest.no, period: sum.period, times, whole: sum.whole, micros: sum.micros, completed };
}

/** Notes a change, in place of an earlier one of the same period. */
function noteChange({ quests }: QuestOutcome, change: QuestChange): void {
  const place = quests.findIndex(
    ({ achievement, period }) => achievement === change.achievement && period === change.period,
  );
  quests[place === -1 ? quests.length : place] = change;
}

/** A late event's period; with its sum so far if the user does not keep it. */
export interface LateQuestPeriod {
  period: number;
  whole?: number;
  micros?: number;
  done?: number;
}

/**
 * Adds an event to the periods of the plan's repeating achievements that count it, and completes those that it fulfils. `counts`:
 * whether an achievement that counts matching events counts this one. `late`: periods of a late event, by achievement.
 */
export function countQuests(
  plan: Plan,
  user: User,
  row: LocalDay,
  event: {
    value: Decimal;
    nowMs: number;
    counts: ReadonlyMap<number, unknown>;
    late: Readonly<Record<number, LateQuestPeriod>> | null;
  },
  outcome: QuestOutcome,
): void {
  for (const quest of plan.quests ?? []) {
    const own = event.late?.[quest.no];
    if ((event.late !== null && own === undefined) || (quest.counted === true && !event.counts.has(quest.no))) continue;
    const period = own?.period ?? questPeriod(quest, row);
    if (period === null) continue;
    const kept = keepPeriod(user, quest.no, period);
    const sum = kept ?? sumBefore(own);
    if (sum === null) continue;
    Object.assign(sum, clamped(plus(sum, event.value)));
    const change = settlePeriod(quest, user, { sum, nowMs: event.nowMs, outcome });
    noteChange(outcome, change);
    // Recomputations notice that a period which the user does not keep has changed.
    if (kept === null && change.completed === 1) user.corrections += 1;
  }
}

const sumBefore = (own: LateQuestPeriod | undefined): QuestPeriod | null =>
  own?.whole === undefined
    ? null
    : { period: own.period, whole: own.whole, micros: own.micros ?? 0, done: own.done === 1 };

/** Completes the current periods of repeating achievements whose sum the user has reached. Returns whether there were any. */
export function completePeriods(
  quests: readonly PlanQuest[],
  user: User,
  row: LocalDay,
  { nowMs, outcome }: { nowMs: number; outcome: QuestOutcome },
): boolean {
  let isCompleted = false;
  for (const quest of quests) {
    const period = questPeriod(quest, row);
    const sum = period === null ? undefined : keptPeriod(user, quest.no, period);
    if (sum === undefined || sum.done) continue;
    const change = settlePeriod(quest, user, { sum, nowMs, outcome });
    if (change.completed !== 1) continue;
    noteChange(outcome, change);
    isCompleted = true;
  }
  return isCompleted;
}

/**
 * Completes the current periods of the plan's repeating achievements that require others, and everything that follows, until nothing
 * does. Call it after `completeAchievements`.
 */
export function followChains(
  plan: Plan,
  user: User,
  row: LocalDay,
  { nowMs, outcome, most = null }: { nowMs: number; outcome: QuestOutcome; most?: GreatestLengths | null },
): void {
  if (plan.chains === undefined) return;
  while (completePeriods(plan.chains, user, row, { nowMs, outcome }))
    completeAchievements(user, plan.achievements, { nowMs, completed: outcome.completed, most });
}
