import type { Decimal } from '../domain/decimal.ts';
import { FREQUENCIES, type Frequency } from '../domain/periods.ts';
import { completeAchievements, type GreatestLengths } from './achievements.ts';
import { guard, isInQuarantine, type Quarantine, takeFromQuarantine } from './guards.ts';
import { dropGoneBoards, scoreBoards } from './leaderboards.ts';
import type { Plan } from './plan.ts';
import { blockedBy, closeLedgers, fireTriggers, openLedgers, type OwnBoosts, welcome } from './points.ts';
import { admit, type SentProfile } from './profile.ts';
import { countQuests, followChains, type LateQuestPeriod, type QuestChange } from './quests.ts';
import { isRefusal, type Refusal } from './refusal.ts';
import {
  extendStreaks,
  frequencyOf,
  joinSettlements,
  localDayOf,
  type LocalDay,
  type Settlements,
  settleUser,
} from './streaks.ts';
import { addToTotal, isEqual, leavesRange, type Peaks } from './sums.ts';
import { copyStreak, dayOfUser, secondOfUser, type Streak, type Total, type User } from './user.ts';
import type { RequestOutcome } from './request.ts';

/** An event, checked against the catalog. */
export interface RuleEvent {
  /** 32 hex digits. */
  id: string;
  value: Decimal;
  /** JSON for the user's entries on leaderboards; absent for none. */
  metadata?: string;
  /** Event attributes as JSON; absent or `''` for none. */
  attributes?: string;
  sent: SentProfile | null;
  /** Numbers of the achievements and triggers whose conditions on event attributes match. */
  counted: readonly number[];
  ownBoosts: OwnBoosts | null;
  /** `null`: the event happens now. */
  occurred: Occurred | null;
}

/** When an event happened, if it has a time of its own. */
export interface Occurred {
  atMs: number;
  /** The second of the user's local day. */
  second: number;
  /** Of a late event, which belongs to an earlier local day. */
  late: LateReplay | null;
}

/** Streaks and freezes as a replay of the user's history leaves them. */
export interface ReplayedStreaks {
  streaks: Readonly<Record<Frequency, Streak>>;
  freezes: number;
  earnedDay: number | null;
  /** Changes that are not stored yet. */
  settlements: Settlements;
}

/** What a late event does to the user's streaks, from a replay of the user's history with the event in its place. */
export interface LateReplay {
  /** The replayed streaks and freezes; `null` leaves the user's unchanged. */
  replayed: (ReplayedStreaks & { /** The event's value in the replay. */ value: Decimal }) | null;
  /** Lengths that the streak of the configured frequency reached with the event, and without it. */
  reached: { is: readonly number[]; was: readonly number[] };
  most: GreatestLengths | null;
  /** The event makes the streak of the configured frequency longer. */
  extended: boolean;
  /** Leaderboard number → first day of the run in which the event counts. */
  runs: Readonly<Record<number, number>>;
  quests: Readonly<Record<number, LateQuestPeriod>>;
}

/** What an event changed. The user has been changed in place. */
export interface EventOutcome extends RequestOutcome {
  kind: 'applied';
  /** The value that was applied; less than the event's if a guard clamped it. */
  value: Decimal;
  clampedBy: number | null;
  total: Total;
  /** The streak of the configured frequency grew. */
  extended: boolean;
  /** A streak of any frequency grew, or the zone changed: the user may be due at another midnight. */
  isDueMoved: boolean;
  /** Name, email address, an attribute or the sign-up date changed. */
  isProfileChanged: boolean;
  /**
   * For an event that happened on a later UTC day than all before: the user's last active day until then, -1 for none. Otherwise
   * `null`. Only stored events say whether a late event is the first of an earlier day.
   */
  activeBefore: number | null;
}

/** A guard stopped an event; nothing of it is applied, and the user must be decoded again. */
export interface StoppedEvent {
  kind: 'stopped';
  guard: number;
  action: 'refused' | 'quarantined' | 'full';
}

export interface EventSurroundings {
  plan: Plan;
  nowMs: number;
  isNew: boolean;
  /** When the event happened (microseconds), for leaderboards that rank equal scores by it. */
  reached: number;
  /** The user's events in quarantine, of metrics with guards. An event that is released leaves it. */
  quarantine: Quarantine;
}

/**
 * Applies one event to a user. The documented order is: user, guards, out-of-points check, total, streak, achievements, points,
 * leaderboards.
 */
export function applyEvent(
  user: User,
  event: RuleEvent,
  around: EventSurroundings,
): EventOutcome | StoppedEvent | Refusal {
  const { plan, nowMs, isNew } = around;
  const late = event.occurred?.late ?? null;
  // The replay was made in the zone that the user is about to leave. A new user leaves no zone.
  const replay = late?.replayed ?? null;
  const replayedBefore = isNew ? null : takeReplay(user, replay);
  const admission = admit(user, event.sent, plan, nowMs);
  if (isRefusal(admission)) return admission;
  const replayed = isNew ? takeReplay(user, replay) : replayedBefore;
  const day = dayOfUser(user, nowMs);
  const row = localDayOf(plan, day);

  const guarded = passGuards(user, event, around, day);
  if (guarded.kind !== 'passed') return guarded;
  const { value, clampedBy } = guarded;
  // The replay must use the value that the guards leave.
  if (clampedBy !== null && late !== null && late.replayed !== null && !isEqual(late.replayed.value, value))
    return { refusal: 'outdated', ...value };

  const ledgers = openLedgers(plan.systems, user, event.ownBoosts, nowMs);
  if (isNew) welcome(ledgers, user, day);

  const peaks = addToTotals(user, event, plan, value);
  if (isRefusal(peaks)) return peaks;
  const blocking = plan.blocks === true ? blockedBy(ledgers, user, peaks) : null;
  if (blocking !== null) return { refusal: 'outOfPoints', trigger: blocking };

  const settled = settleUser(user, plan.streak, row, admission.left);
  const streaks = countInStreaks(user, event, { around, row, value, late });
  if (isRefusal(streaks)) return streaks;

  const outcome = { completed: [] as number[], quests: [] as QuestChange[] };
  const most = late?.most ?? null;
  countQuests(plan, user, row, { value, nowMs, counts: peaks.counts, late: late?.quests ?? null }, outcome);
  completeAchievements(user, plan.achievements, { nowMs, completed: outcome.completed, most });
  followChains(plan, user, row, { nowMs, outcome, most });

  const unpaid = fireTriggers(ledgers, user, { day, ...peaks, reached: streaks.reached, completed: outcome.completed });
  if (unpaid !== null) return { refusal: 'outOfPoints', trigger: unpaid };
  closeLedgers(ledgers, user);

  const { changes, leftRange } = scoreBoards(user, {
    plan,
    nowMs,
    day,
    second: secondOfUser(user, nowMs),
    ledgers,
    length: user.streaks[frequencyOf(plan.streak)].length,
    event: {
      value,
      reached: around.reached,
      ...(event.attributes !== undefined && { attributes: event.attributes }),
      occurred: event.occurred && { second: event.occurred.second, runs: late?.runs ?? null },
      ...(event.metadata !== undefined && { metadata: { event: event.id, json: event.metadata } }),
    },
  });
  if (leftRange !== null) return { refusal: 'outOfRange', metric: plan.metric, sum: 'score', no: leftRange };
  dropGoneBoards(user, plan);
  if (plan.guards?.release === true) takeFromQuarantine(around.quarantine, event.id);
  const activeBefore = noteActiveDay(user, Math.min(event.occurred?.atMs ?? nowMs, nowMs));
  noteUpdate(user, plan, nowMs);
  return {
    kind: 'applied',
    value,
    clampedBy,
    day,
    total: user.totals.get(plan.metric)!,
    extended: streaks.extended,
    isDueMoved: streaks.isDueMoved || admission.moved,
    isProfileChanged: admission.changed,
    settlements: joinSettlements(joinSettlements(replayed, admission.settlements), settled),
    ...outcome,
    ledgers,
    scores: changes,
    activeBefore,
  };
}

/** Replaces a user's streaks with the replayed ones. What the clock did since then is settled as usual. */
export function takeReplay(user: User, replayed: ReplayedStreaks | null): Settlements | null {
  if (replayed === null) return null;
  // Another try after a conflict uses the replay again.
  for (const frequency of FREQUENCIES) user.streaks[frequency] = copyStreak(replayed.streaks[frequency]);
  user.freezes = replayed.freezes;
  user.earnedDay = replayed.earnedDay;
  return replayed.settlements;
}

/** Applies the metric's guards; without any, the event passes. */
function passGuards(
  user: User,
  { id, value, occurred }: RuleEvent,
  { plan, nowMs, quarantine }: EventSurroundings,
  day: number,
): { kind: 'passed'; value: Decimal; clampedBy: number | null } | StoppedEvent | (Refusal & { kind?: never }) {
  const { guards, metric } = plan;
  if (guards === undefined) return { kind: 'passed', value, clampedBy: null };
  // Guards do not check what was released from quarantine, and do not count it.
  if (guards.release === true) {
    if (!isInQuarantine(quarantine, id)) return { refusal: 'notQuarantined' };
    return { kind: 'passed', value, clampedBy: null };
  }
  const event = { metric, value, nowMs, occurredMs: occurred?.atMs ?? null };
  const decision = guard(guards, user, event, { day, quarantine });
  if (decision.action !== 'allow') return { kind: 'stopped', guard: decision.guard, action: decision.action };
  return { kind: 'passed', value: decision.value, clampedBy: decision.clampedBy };
}

/** Adds the event to the metric's total and to the counts of what counts matching events itself. */
function addToTotals(
  user: User,
  { counted }: RuleEvent,
  { metric }: Plan,
  value: Decimal,
): { total: Peaks; counts: Map<number, Peaks> } | Refusal {
  const total = addToTotal(user.totals, metric, value);
  if (leavesRange(user.totals.get(metric)!, value)) return { refusal: 'outOfRange', metric, sum: 'total' };
  const counts = new Map<number, Peaks>();
  for (const no of counted) {
    counts.set(no, addToTotal(user.counts, no, value));
    if (leavesRange(user.counts.get(no)!, value)) return { refusal: 'outOfRange', metric, sum: 'count', no };
  }
  return { total, counts };
}

interface StreakEffect {
  extended: boolean;
  isDueMoved: boolean;
  reached: { is: readonly number[]; was: readonly number[] };
}

/** Extends the settled streaks. A late event has done so in its replay. */
function countInStreaks(
  user: User,
  { occurred }: RuleEvent,
  admitted: { around: EventSurroundings; row: LocalDay; value: Decimal; late: LateReplay | null },
): StreakEffect | Refusal {
  const { around, row, value, late } = admitted;
  const { plan, nowMs } = around;
  if (late !== null) return { extended: late.extended, isDueMoved: true, reached: late.reached };
  const { metric, streak } = plan;
  const grown = extendStreaks(user, streak, row, { metric, value, nowMs, occurredMs: occurred?.atMs ?? null });
  for (const frequency of FREQUENCIES) {
    const sum = user.streaks[frequency].sums.get(metric);
    if (sum !== undefined && leavesRange(sum, value)) return { refusal: 'outOfRange', metric, sum: 'period' };
  }
  const configured = frequencyOf(streak);
  const extended = grown.includes(configured);
  const is = extended ? [user.streaks[configured].length] : [];
  return { extended, isDueMoved: grown.length > 0, reached: { is, was: [] } };
}

/** For the first event of the user's last UTC day: the active day before it, -1 for none; otherwise `null`. */
function noteActiveDay(user: User, happenedMs: number): number | null {
  const day = Math.floor(happenedMs / 86_400_000);
  const before = user.activeDay ?? -1;
  if (before >= day) return null;
  user.activeDay = day;
  return before;
}

/** Events of a batch may arrive late. */
function noteUpdate(user: User, { streak }: Plan, nowMs: number): void {
  user.settledMs =
    streak.before !== undefined && user.updatedMs > nowMs ? Math.max(user.updatedMs, user.settledMs ?? 0) : null;
  user.updatedMs = nowMs;
}
