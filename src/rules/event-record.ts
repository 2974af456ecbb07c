import { ZERO } from '../domain/decimal.ts';
import { GUARD_ACTION } from '../packed/guard-fields.ts';
import { KIND, kindField, RECORD } from '../packed/record-fields.ts';
import type { GuardedRecord, RecordedSettlement, RecordedStreak } from '../packed/record.ts';
import type { EventOutcome, RuleEvent } from './event.ts';
import type { Plan } from './plan.ts';
import { addLeagues, addSettlements, type Few, recordedPoints, recordedQuest, recordedStreak } from './record-parts.ts';
import { localDayOf, settleUser } from './streaks.ts';
import { dayOfUser, type User } from './user.ts';

/** What an event's record says besides the outcome. `attributes`: JSON text, `''` for none. `key`: idempotency key, `''` for none. */
export interface EventTexts {
  userId: string;
  attributes: string;
  key: string;
}

/** What a late event repaired in stored streak changes. */
export interface StreakRepairs {
  /** Local day to which the event belongs. */
  day?: number;
  superseded?: string[];
  repairs?: readonly RecordedSettlement[];
}

/** The record of an applied event as a list by EVENT_RECORD, with an empty list of leaderboards. Fields that it lacks are `false`. */
export function eventRecord(
  user: User,
  event: RuleEvent,
  outcome: EventOutcome,
  details: { plan: Plan; nowMs: number; isNew: boolean; texts: EventTexts; repairs: StreakRepairs },
): unknown[] {
  const { plan, nowMs, isNew, texts, repairs } = details;
  const { value, total, day, extended, completed } = outcome;
  const points = recordedPoints(outcome.ledgers);
  const isVersioned = extended || points !== undefined || completed.length > 0;
  const record: unknown[] = [
    KIND.event,
    event.id,
    texts.userId,
    nowMs,
    day,
    plan.metric,
    value.whole,
    value.micros,
    total.whole,
    total.micros,
    recordedStreak(user, plan.streak, { extended, day }),
    points ?? false,
    isVersioned && plan.version,
    texts.attributes !== '' && texts.attributes,
    texts.key !== '' && texts.key,
    [],
  ];
  const isReleased = plan.guards?.release === true;
  const more = moreOfEvent(user, event, outcome, { isNew, isReleased, isInLeagues: plan.leagues === true, repairs });
  if (more !== null) record.push(more);
  return record;
}

/** Fields that only few events' records have; `null` if there are none. */
function moreOfEvent(
  user: User,
  { value, occurred }: RuleEvent,
  outcome: EventOutcome,
  event: { isNew: boolean; isReleased: boolean; isInLeagues: boolean; repairs: StreakRepairs },
): Few | null {
  const { isNew, isReleased, isInLeagues, repairs } = event;
  const more: Few = {};
  if (isNew) more[RECORD.isNew] = 1;
  if (outcome.activeBefore !== null) more[RECORD.activeBefore] = outcome.activeBefore;
  if (outcome.isProfileChanged) more[RECORD.changed] = 1;
  if (outcome.completed.length > 0) more[RECORD.completed] = outcome.completed;
  if (outcome.quests.length > 0) more[RECORD.quests] = outcome.quests.map(recordedQuest);
  if (outcome.isDueMoved) more[RECORD.due] = 1;
  if (outcome.clampedBy !== null)
    more[RECORD.guard] = [outcome.clampedBy, GUARD_ACTION.clamped, value.whole, value.micros];
  if (isReleased) more[RECORD.released] = 1;
  if (occurred !== null) {
    more[RECORD.occurredMs] = occurred.atMs;
    if (repairs.day !== undefined) more[RECORD.occurredDay] = repairs.day;
    const { superseded = [], repairs: repaired = [] } = repairs;
    if (repaired.length > 0 || superseded.length > 0) {
      more[RECORD.repairs] = [...repaired];
      more[RECORD.superseded] = superseded;
    }
  }
  if (isInLeagues) addLeagues(more, outcome.scores);
  addSettlements(more, user, outcome.settlements);
  for (const _ in more) return more;
  return null;
}

/** The record of an event that a guard stopped. The user is the one before the event. */
export function guardedRecord(
  user: User,
  event: RuleEvent,
  { guard, action }: { guard: number; action: number },
  { plan, nowMs, texts }: { plan: Plan; nowMs: number; texts: EventTexts },
): GuardedRecord {
  const { day, total, streak } = standing(user, plan, nowMs);
  const isKept = action === GUARD_ACTION.quarantined;
  return {
    [kindField]: KIND.guarded,
    [RECORD.guard]: [guard, action],
    [RECORD.id]: event.id,
    [RECORD.userId]: texts.userId,
    [RECORD.atMs]: nowMs,
    [RECORD.day]: day,
    [RECORD.metric]: plan.metric,
    [RECORD.value]: [event.value.whole, event.value.micros],
    [RECORD.total]: total,
    [RECORD.streak]: streak,
    ...(isKept && texts.attributes !== '' && { [RECORD.attributes]: texts.attributes }),
    ...(isKept && texts.key !== '' && { [RECORD.idempotencyKey]: texts.key }),
  };
}

/** The record of an event that is removed from quarantine without being applied. */
export const droppedRecord = (id: string, userId: string, nowMs: number): GuardedRecord => ({
  [kindField]: KIND.guarded,
  [RECORD.guard]: [0, GUARD_ACTION.dropped],
  [RECORD.id]: id,
  [RECORD.userId]: userId,
  [RECORD.atMs]: nowMs,
});

/**
 * A user's total of the plan's metric and current streak, for the answer to an event that changes nothing. Settles the user's streaks,
 * so the user must be decoded again.
 */
export function standing(
  user: User,
  plan: Plan,
  nowMs: number,
): { total: [whole: number, micros: number]; streak: RecordedStreak; day: number } {
  const day = dayOfUser(user, nowMs);
  settleUser(user, plan.streak, localDayOf(plan, day));
  const { whole, micros } = user.totals.get(plan.metric) ?? ZERO;
  return { total: [whole, micros], streak: recordedStreak(user, plan.streak, { extended: false, day }), day };
}
