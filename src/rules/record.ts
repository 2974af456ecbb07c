import { FREQUENCIES } from '../domain/periods.ts';
import type { Settlement } from '../domain/streaks/settle.ts';
import { GUARD_ACTION } from '../packed/guard-fields.ts';
import { BALANCE, KIND, kindField, RECOMPUTATION, RECORD, REVERSAL, SETTLED } from '../packed/record-fields.ts';
import type {
  GuardedRecord,
  HappenedRecord,
  MergeRecord,
  RecordedMerge,
  RecordedPoints,
  RecordedQuest,
  RecordedRecomputation,
  RecordedReversal,
  RecordedSettlement,
  RecordedStreak,
} from '../packed/record.ts';
import type { EventOutcome, RuleEvent } from './event.ts';
import type { ScoreChange } from './leaderboards.ts';
import type { Plan, PlanStreak } from './plan.ts';
import type { PointsMove } from './points.ts';
import type { QuestChange } from './quests.ts';
import type { RecomputationOutcome, RecomputationStep } from './recomputation.ts';
import type { RequestOutcome } from './request.ts';
import type { Reversal, ReversalOutcome } from './reversal.ts';
import type { BalanceMovement, BalanceOutcome } from './spending.ts';
import type { StreakOutcome } from './streak-changes.ts';
import { type BesideStreaks, daysOffAhead, frequencyOf, localDayOf, type Settlements, settleUser } from './streaks.ts';
import { dayOfUser, type User } from './user.ts';
import { ZERO } from '../domain/decimal.ts';

/*
 * The records of changes, for the outbox and the answer. `src/packed/record-fields.ts` describes the fields. The ranks on leaderboards
 * are added when the change is committed.
 */

type Few = Partial<HappenedRecord>;

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

/** The record of a request about a user. */
export function requestRecord(
  user: User,
  outcome: RequestOutcome,
  { plan, nowMs, isNew, id, userId }: { plan: Plan; nowMs: number; isNew: boolean; id: string; userId: string },
): HappenedRecord {
  const { completed } = outcome;
  const record: HappenedRecord = {
    [kindField]: completed.length > 0 ? KIND.completion : KIND.user,
    [RECORD.userId]: userId,
    [RECORD.atMs]: nowMs,
    [RECORD.day]: outcome.day,
    [RECORD.id]: id,
  };
  if (outcome.quests.length > 0) record[RECORD.quests] = outcome.quests.map(recordedQuest);
  addSettlements(record, user, outcome.settlements);
  if (isNew) record[RECORD.isNew] = 1;
  if (completed.length > 0) record[RECORD.completed] = completed;
  const points = recordedPoints(outcome.ledgers);
  if (points !== undefined) record[RECORD.points] = points;
  if (completed.length > 0 || points !== undefined) record[RECORD.version] = plan.version;
  // The plan of a request lacks leaderboards of metrics, on which users are hidden and shown.
  addLeagues(record, outcome.scores);
  return record;
}

/** The record of an administrator's change to streaks. */
export function streaksRecord(
  user: User,
  { day, settlements, given, pause }: StreakOutcome,
  { nowMs, id, userId }: { nowMs: number; id: string; userId: string },
): HappenedRecord {
  const record: HappenedRecord = {
    [kindField]: KIND.streaks,
    [RECORD.userId]: userId,
    [RECORD.atMs]: nowMs,
    [RECORD.day]: day,
    [RECORD.id]: id,
    [RECORD.byAdmin]: 1,
  };
  addSettlements(record, user, settlements);
  // A freeze that is given is not earned.
  if (given !== null) record[RECORD.beside] = [...(record[RECORD.beside] ?? []), recordedBeside(given)];
  if (pause !== null) record[RECORD.pauses] = [[pause.from, pause.to, pause.id]];
  return record;
}

/** What a request said about a movement of a balance. `key`: its idempotency key. */
export interface BalanceTexts {
  reason?: string | undefined;
  reference?: string | undefined;
  key?: string | undefined;
}

/** The record of a movement of a balance. */
export function balanceRecord(
  user: User,
  movement: BalanceMovement,
  { amount, balance, expiresMs, holdEndsMs }: BalanceOutcome,
  { nowMs, id, userId, texts }: { nowMs: number; id: string; userId: string; texts: BalanceTexts },
): HappenedRecord {
  const of = 'of' in movement ? movement.of : false;
  const { reason = false, reference = false, key = false } = texts;
  return {
    [kindField]: KIND.user,
    [RECORD.userId]: userId,
    [RECORD.atMs]: nowMs,
    [RECORD.day]: dayOfUser(user, nowMs),
    [RECORD.id]: id,
    [RECORD.balance]: [
      movement.system,
      BALANCE[movement.kind],
      amount,
      balance,
      of,
      expiresMs ?? false,
      reason,
      reference,
      key,
      holdEndsMs === null ? false : dayOfUser(user, holdEndsMs),
      ...(movement.kind === 'spend' && movement.reward !== undefined ? ([movement.reward] as const) : []),
    ],
  };
}

/** The record of a reversal. Its points contain systems in which nothing could be moved. */
export function reversalRecord(
  user: User,
  reversal: Reversal,
  outcome: ReversalOutcome,
  { plan, nowMs, id, userId }: { plan: Plan; nowMs: number; id: string; userId: string },
): HappenedRecord {
  const { metric, value, repairs, superseded, attributes } = reversal;
  const { total, ledgers, endedStreak } = outcome;
  const reversed: RecordedReversal = [
    reversal.root,
    reversal.reversed,
    reversal.voids ? 1 : 0,
    outcome.awards,
    outcome.revoked,
    outcome.restored,
    outcome.shortfalls,
  ];
  const record: HappenedRecord = {
    [kindField]: KIND.reversal,
    [RECORD.userId]: userId,
    [RECORD.atMs]: nowMs,
    [RECORD.day]: reversal.day,
    [RECORD.id]: id,
    [RECORD.metric]: metric,
    [RECORD.value]: [0 - value.whole, 0 - value.micros],
    [RECORD.total]: [total.whole, total.micros],
    [RECORD.streak]: recordedStreak(user, plan.streak, { extended: false, day: outcome.day }),
    [RECORD.reversal]:
      endedStreak === null ? reversed : Object.assign(reversed, { [REVERSAL.endedStreak]: endedStreak }),
    [RECORD.occurredMs]: reversal.occurredMs,
    [RECORD.occurredDay]: reversal.occurredDay,
    [RECORD.due]: 1,
  };
  if (ledgers.length > 0) record[RECORD.points] = ledgers.map(recordedMove);
  if (attributes !== '') record[RECORD.attributes] = attributes;
  if (repairs.length > 0 || superseded.length > 0) {
    record[RECORD.repairs] = repairs;
    record[RECORD.superseded] = superseded;
  }
  addSettlements(record, user, outcome.settlements);
  addLeagues(record, outcome.scores);
  return record;
}

/** The streak changes that a merge stores. */
export interface MergedStreaks {
  settlements: Settlements | null;
  superseded: string[];
  repairs: RecordedSettlement[];
}

/** The record about the remaining user of a merge. */
export function mergeRecord(
  { id, userId, nowMs }: { id: string; userId: string; nowMs: number },
  merged: RecordedMerge,
  { settlements, superseded, repairs }: MergedStreaks,
): MergeRecord {
  const record: MergeRecord = {
    [kindField]: KIND.merge,
    [RECORD.id]: id,
    [RECORD.userId]: userId,
    [RECORD.atMs]: nowMs,
    [RECORD.merged]: merged,
  };
  const { streaks = [], beside = [] } = settlements ?? {};
  if (streaks.length > 0) record[RECORD.settlements] = streaks.map(recordedSettlement);
  if (beside.length > 0) record[RECORD.beside] = beside.map(recordedBeside);
  if (superseded.length > 0) record[RECORD.superseded] = superseded;
  if (repairs.length > 0) record[RECORD.repairs] = repairs;
  return record;
}

/** The record of a step of a recomputation. */
export function recomputationRecord(
  user: User,
  outcome: RecomputationOutcome,
  { job, plan, nowMs, reverts, id, userId }: RecomputationStep & { job: string; id: string; userId: string },
): HappenedRecord {
  const { completed, quests, recomputed } = outcome;
  const recomputation: RecordedRecomputation = [
    job,
    reverts ? 1 : 0,
    outcome.revoked,
    outcome.restored,
    outcome.awards,
    outcome.shortfalls,
    outcome.skipped,
  ];
  if (recomputed !== null) Object.assign(recomputation, { [RECOMPUTATION.scores]: recomputed });
  const record: HappenedRecord = {
    [kindField]: completed.length > 0 ? KIND.completion : KIND.user,
    [RECORD.userId]: userId,
    [RECORD.atMs]: nowMs,
    [RECORD.day]: outcome.day,
    [RECORD.id]: id,
    [RECORD.version]: plan.version,
    [RECORD.recomputation]: recomputation,
  };
  if (completed.length > 0) record[RECORD.completed] = completed;
  if (quests.length > 0) record[RECORD.quests] = quests.map(recordedQuest);
  const points = recordedPoints(outcome.ledgers);
  if (points !== undefined) record[RECORD.points] = points;
  addSettlements(record, user, outcome.settlements);
  return record;
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

/** The settled streak of the configured frequency on a local day. */
export function recordedStreak(
  user: User,
  rule: PlanStreak,
  { extended, day }: { extended: boolean; day: number },
): RecordedStreak {
  const { length, startDay, lastPeriod } = user.streaks[frequencyOf(rule)];
  const offDays = daysOffAhead(user, rule, day, (ms) => dayOfUser(user, ms));
  const record: RecordedStreak = [length, startDay ?? -1, lastPeriod ?? -1, extended ? 1 : 0, user.freezes];
  return offDays > 0 ? ([...(record as unknown as number[]), offDays] as unknown as RecordedStreak) : record;
}

/** Adds the leaderboards with leagues on which the user has a score now. The first such record of a run gives the user a cohort. */
function addLeagues(record: Few, scores: readonly ScoreChange[]): void {
  const entered = scores.filter(({ board, score }) => board.leagues === true && score > (board.floor ?? 0));
  if (entered.length > 0) record[RECORD.leagues] = entered.map(({ board, runDay, group }) => [board.no, runDay, group]);
}

function addSettlements(record: Few, user: User, settlements: Settlements | null): void {
  if (settlements === null) return;
  const { streaks, beside } = settlements;
  record[RECORD.due] = 1;
  record[RECORD.freezes] = user.freezes;
  if (beside.length > 0) record[RECORD.beside] = beside.map(recordedBeside);
  const earned = beside.reduce((sum, each) => (each.kind === 'moved' ? sum : sum + each.count), 0);
  if (earned > 0) record[RECORD.freezesEarned] = earned;
  if (streaks.length > 0) record[RECORD.settlements] = streaks.map(recordedSettlement);
}

const recordedSettlement = ({ frequency, kind, from, to, length }: Settlement): RecordedSettlement => {
  const packed = [FREQUENCIES.indexOf(frequency) + 1, SETTLED[kind], from, to];
  if (length !== null) packed.push(length);
  return packed as unknown as RecordedSettlement;
};

/** SETTLEMENTs of no frequency. */
const recordedBeside = (each: BesideStreaks): RecordedSettlement =>
  (each.kind === 'moved'
    ? [0, SETTLED.moved, each.from, each.to]
    : [0, SETTLED[each.kind], each.day, each.day, each.count]) as unknown as RecordedSettlement;

const recordedQuest = ({ achievement, period, times, whole, micros, completed }: QuestChange): RecordedQuest => [
  achievement,
  period,
  times,
  whole,
  micros,
  completed,
];

/** The points systems in which something was awarded. */
function recordedPoints(ledgers: readonly PointsMove[]): RecordedPoints[] | undefined {
  const changed = ledgers.filter(({ awards }) => awards.length > 0);
  return changed.length === 0 ? undefined : changed.map(recordedMove);
}

const recordedMove = ({ system, before, total, awards }: PointsMove): RecordedPoints => [
  system.no,
  before,
  total,
  awards.map(({ trigger, points, after, boosts, day }) =>
    day === undefined ? [trigger, points, after, boosts] : [trigger, points, after, boosts, day],
  ),
];
