import { completeAchievements } from './achievements.ts';
import { hasAll, holds } from './conditions.ts';
import { type ScoreChange, scoreBoards } from './leaderboards.ts';
import type { Plan, PlanAchievement } from './plan.ts';
import { closeLedgers, fireTriggers, type Ledger, openLedgers, type OwnBoosts, welcome } from './points.ts';
import { admit, applyPreferences, type SentProfile } from './profile.ts';
import { followChains, type QuestChange } from './quests.ts';
import { isRefusal, type Refusal } from './refusal.ts';
import { frequencyOf, joinSettlements, localDayOf, type Settlements, settleUser } from './streaks.ts';
import { dayOfUser, secondOfUser, type User } from './user.ts';

/** A request about a user that is not an event: user fields and preferences, and an achievement to complete. */
export interface UserRequest {
  sent: SentProfile | null;
  ownBoosts: OwnBoosts | null;
  achievement: PlanAchievement | null;
}

/** What a request changed. The user has been changed in place. */
export interface RequestOutcome {
  day: number;
  settlements: Settlements | null;
  completed: number[];
  quests: QuestChange[];
  ledgers: Ledger[];
  scores: ScoreChange[];
}

/** Applies a request to a user. `plan`: of no metric. */
export function applyRequest(
  user: User,
  request: UserRequest,
  { plan, nowMs, isNew }: { plan: Plan; nowMs: number; isNew: boolean },
): RequestOutcome | Refusal {
  const { sent, achievement } = request;
  const admission = admit(user, sent, plan, nowMs);
  if (isRefusal(admission)) return admission;
  const day = dayOfUser(user, nowMs);
  const row = localDayOf(plan, day);
  const settled = settleUser(user, plan.streak, row, admission.left);
  if (sent !== null) applyPreferences(user, sent, day);
  const ledgers = openLedgers(plan.systems, user, request.ownBoosts, nowMs);
  if (isNew) welcome(ledgers, user, day);

  const outcome = { completed: [] as number[], quests: [] as QuestChange[] };
  if (achievement !== null && !user.completions.has(achievement.no)) {
    const refusal = refusalOf(user, achievement);
    if (refusal !== null) return refusal;
    user.completions.set(achievement.no, nowMs);
    outcome.completed.push(achievement.no);
    completeAchievements(user, plan.achievements, { nowMs, completed: outcome.completed });
    followChains(plan, user, row, { nowMs, outcome });
  }
  const { completed } = outcome;
  const scores = payAndScore(user, plan, { nowMs, day, second: secondOfUser(user, nowMs), ledgers, completed });
  if (isRefusal(scores)) return scores;
  return { day, settlements: joinSettlements(admission.settlements, settled), ...outcome, ledgers, scores };
}

/**
 * The last steps of a change that is not an event: pays the triggers of completed achievements, and moves the user's scores. `second`:
 * of the user's local day.
 */
export function payAndScore(
  user: User,
  plan: Plan,
  change: Pick<RequestOutcome, 'day' | 'ledgers' | 'completed'> & { nowMs: number; second: number },
): ScoreChange[] | Refusal {
  const { ledgers } = change;
  const unpaid = fireTriggers(ledgers, user, {
    total: null,
    counts: new Map(),
    reached: { is: [], was: [] },
    ...change,
  });
  if (unpaid !== null) return { refusal: 'outOfPoints', trigger: unpaid };
  closeLedgers(ledgers, user);
  const length = user.streaks[frequencyOf(plan.streak)].length;
  return scoreBoards(user, { plan, length, event: null, ...change }).changes;
}

/** Why a user cannot complete an achievement; `null` if nothing prevents it. */
function refusalOf(user: User, { locked, users, requires = [] }: PlanAchievement): Refusal | null {
  if (locked === true) return { refusal: 'locked' };
  if (!holds(users, user)) return { refusal: 'unmetConditions' };
  if (hasAll(user, requires)) return null;
  return { refusal: 'required', missing: requires.filter((no) => !user.completions.has(no)) };
}
