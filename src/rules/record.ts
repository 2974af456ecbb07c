import { BALANCE, KIND, kindField, RECOMPUTATION, RECORD, REVERSAL } from '../packed/record-fields.ts';
import type {
  HappenedRecord,
  MergeRecord,
  RecordedMerge,
  RecordedRecomputation,
  RecordedReversal,
  RecordedSettlement,
} from '../packed/record.ts';
import type { Plan } from './plan.ts';
import type { RecomputationOutcome, RecomputationStep } from './recomputation.ts';
import {
  addLeagues,
  addSettlements,
  recordedBeside,
  recordedMove,
  recordedPoints,
  recordedQuest,
  recordedSettlement,
  recordedStreak,
} from './record-parts.ts';
import type { RequestOutcome } from './request.ts';
import type { Reversal, ReversalOutcome } from './reversal.ts';
import type { BalanceMovement, BalanceOutcome } from './spending.ts';
import type { StreakOutcome } from './streak-changes.ts';
import type { Settlements } from './streaks.ts';
import { dayOfUser, type User } from './user.ts';

/*
 * The records of changes other than events, for the outbox and the answer. `src/packed/record-fields.ts` describes the fields. The
 * ranks on leaderboards are added when the change is committed.
 */

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
