import { yearsAt } from '../domain/anniversary.ts';
import { DAY_MS } from '../domain/periods.ts';
import { zoneOffset } from '../domain/zone.ts';
import { completeAchievements } from './achievements.ts';
import { scoreBoards } from './leaderboards.ts';
import type { Plan } from './plan.ts';
import { closeLedgers, openLedgers, type OwnBoosts, payForTime } from './points.ts';
import { followChains, type QuestOutcome } from './quests.ts';
import { isRefusal } from './refusal.ts';
import { payAndScore, type RequestOutcome } from './request.ts';
import { frequencyOf, localDayOf, settleUser } from './streaks.ts';
import type { User } from './user.ts';

/*
 * What the clock changes. Each change has a time of its own, which has passed; the user's zone counts with its offset at that time. A
 * repeated change finds nothing to do.
 */

/** A zone was checked when it was stored. If this machine no longer knows it, it counts as UTC. */
const offsetOf = (zone: string, atMs: number): { offsetSeconds: number; untilMs: number } =>
  zoneOffset(zone, atMs) ?? { offsetSeconds: 0, untilMs: atMs + DAY_MS };

/** The user's local day at a time, and the second of it. */
export function localTime({ zone }: User, atMs: number): { day: number; second: number } {
  const second = Math.floor(atMs / 1000) + (zone === null ? 0 : offsetOf(zone, atMs).offsetSeconds);
  const day = Math.floor(second / DAY_SECONDS);
  return { day, second: second - day * DAY_SECONDS };
}

const DAY_SECONDS = 86_400;

/**
 * Settles the streaks of a user who sends no events up to the day that begins in the user's zone. Returns `null` if nothing must be
 * written: days off alone are recorded with the next change.
 */
export function settleMidnight(user: User, plan: Plan, atMs: number): RequestOutcome | null {
  const previousOffset = { offsetSeconds: user.offsetSeconds ?? 0, untilMs: user.offsetUntilMs };
  if (user.zone !== null) {
    const { offsetSeconds, untilMs } = offsetOf(user.zone, atMs);
    user.offsetSeconds = offsetSeconds;
    user.offsetUntilMs = untilMs;
  }
  const { day, second } = localTime(user, atMs);
  const settlements = settleUser(user, plan.streak, localDayOf(plan, day), previousOffset);
  if (settlements === null) return null;
  if (settlements.beside.length === 0 && settlements.streaks.every(({ kind }) => kind === 'off')) return null;
  const length = user.streaks[frequencyOf(plan.streak)].length;
  const { changes } = scoreBoards(user, { plan, nowMs: atMs, day, second, ledgers: [], length, event: null });
  return { day, settlements, completed: [], quests: [], ledgers: [], scores: changes };
}

/** Pays `time` triggers whose period ended at a time. Returns `null` if there is nothing to pay. */
export function payTime(
  user: User,
  plan: Plan,
  { triggers, dueMs, ownBoosts }: { triggers: readonly number[]; dueMs: number; ownBoosts: OwnBoosts | null },
): RequestOutcome | null {
  const { day, second } = localTime(user, dueMs);
  const ledgers = openLedgers(plan.systems, user, ownBoosts, dueMs);
  if (!payForTime(ledgers, user, { triggers, dueMs, day })) return null;
  closeLedgers(ledgers, user);
  const { changes } = scoreBoards(user, { plan, nowMs: dueMs, day, second, ledgers, length: 0, event: null });
  return { day, settlements: null, completed: [], quests: [], ledgers, scores: changes };
}

/**
 * Counts the full years since a user's sign-up at a time, and completes the achievements that follow. Returns `null` if there is nothing
 * to count. `plan`: without triggers that block, because there is no request to refuse.
 */
export function countYears(user: User, plan: Plan, atMs: number, ownBoosts: OwnBoosts | null): RequestOutcome | null {
  const { signUp, zone } = user;
  if (signUp === null || signUp.years >= yearsAt(signUp, zone, atMs)) return null;
  signUp.years = yearsAt(signUp, zone, atMs);
  const { day, second } = localTime(user, atMs);
  const row = localDayOf(plan, day);
  const settlements = settleUser(user, plan.streak, row);
  const outcome: QuestOutcome = { completed: [], quests: [] };
  completeAchievements(user, plan.achievements, { nowMs: atMs, completed: outcome.completed });
  followChains(plan, user, row, { nowMs: atMs, outcome });
  const ledgers = openLedgers(plan.systems, user, ownBoosts, atMs);
  const scores = payAndScore(user, plan, { nowMs: atMs, day, second, ledgers, completed: outcome.completed });
  if (isRefusal(scores)) throw new Error('A trigger blocks the counting of years.');
  return { day, settlements, ...outcome, ledgers, scores };
}
