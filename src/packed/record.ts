import type { ErrorCode } from '../errors.ts';
import type {
  AWARD,
  BALANCE,
  BALANCE_CHANGE,
  IMPORTED_AWARD,
  IMPORTED_DAY,
  kindField,
  RECORD,
  KIND,
  MERGED,
  RANKED,
  RECORDED_BOARD,
  RECORDED_POINTS,
  RECORDED_STREAK,
  REVERSAL,
  RECOMPUTATION,
  RECOMPUTED_SCORE,
  COMPENSATED,
  COMPLETED,
  RECORDED_QUEST,
  SHORTFALL,
  SETTLED,
  SETTLEMENT,
} from './record-fields.ts';
import type { GUARDED } from './guard-fields.ts';
import type {
  BLOCKED,
  INSUFFICIENT,
  MERGED_INTO,
  OUT_OF_RANGE,
  TOO_MANY_KEYS,
  OUTDATED,
  REPLAY,
  REQUIRED,
  UNCHANGED,
  UNKNOWN_USE,
  REFUSAL,
  SERVER_ONLY,
  STREAK_REFUSAL,
  SUM,
  UNSENT,
} from './refusal-fields.ts';
import type { HistorySum } from './state.ts';
import type { PackedPause, PackedTotal } from './state.ts';

/**
 * A script's report about one thing that happened: the answer to the caller, and the record in the outbox.
 * `record-fields.ts` describes the fields.
 */
export interface HappenedRecord {
  [kindField]:
    | typeof KIND.event
    | typeof KIND.user
    | typeof KIND.completion
    | typeof KIND.streaks
    | typeof KIND.reversal;
  [RECORD.id]: string;
  [RECORD.userId]: string;
  [RECORD.atMs]: number;
  [RECORD.day]: number;
  [RECORD.isNew]?: 1;
  [RECORD.activeBefore]?: number;
  [RECORD.changed]?: 1;
  [RECORD.metric]?: number;
  [RECORD.value]?: PackedTotal;
  [RECORD.total]?: PackedTotal;
  [RECORD.streak]?: RecordedStreak;
  [RECORD.completed]?: number[];
  [RECORD.quests]?: RecordedQuest[];
  [RECORD.points]?: RecordedPoints[];
  [RECORD.boards]?: RecordedBoard[];
  [RECORD.balance]?: RecordedBalanceChange;
  [RECORD.ranked]?: RecordedRank;
  [RECORD.leagues]?: RecordedLeague[];
  [RECORD.attributes]?: string;
  [RECORD.idempotencyKey]?: string;
  [RECORD.guard]?: RecordedGuard;
  [RECORD.released]?: 1;
  [RECORD.due]?: 1;
  [RECORD.settlements]?: RecordedSettlement[];
  [RECORD.beside]?: RecordedSettlement[];
  [RECORD.occurredMs]?: number;
  [RECORD.occurredDay]?: number;
  [RECORD.superseded]?: string[];
  [RECORD.repairs]?: RecordedSettlement[];
  [RECORD.freezesEarned]?: number;
  [RECORD.freezes]?: number;
  [RECORD.pauses]?: PackedPause[];
  [RECORD.byAdmin]?: 1;
  [RECORD.backdated]?: 1;
  [RECORD.reversal]?: RecordedReversal;
  [RECORD.recomputation]?: RecordedRecomputation;
  [RECORD.version]?: number;
}

/** RECORDED_TIER. */
export type RecordedTier = [boardNo: number, tier: number];

/** RECORDED_LEAGUE. */
export type RecordedLeague = [boardNo: number, runDay: number, group: string];

export interface RecordedRank {
  [RANKED.board]: number;
  [RANKED.runDay]: number;
  [RANKED.group]: string;
  [RANKED.rank]: number;
  [RANKED.score]: number;
}

/** A user was deleted. Earlier outbox entries about the user are void; later ones are about a new user. */
export interface GoneRecord {
  [kindField]: typeof KIND.deletion;
  [RECORD.id]: string;
  [RECORD.userId]: string;
  [RECORD.atMs]: number;
  [RECORD.generation]?: number;
}

/** Of a merge: about the user who is gone, or with `merged` about the one who remains. */
export interface MergeRecord {
  [kindField]: typeof KIND.merge;
  [RECORD.id]: string;
  [RECORD.userId]: string;
  [RECORD.atMs]: number;
  [RECORD.merged]?: RecordedMerge;
  [RECORD.sealed]?: string;
  [RECORD.unsealed]?: string;
  [RECORD.settlements]?: RecordedSettlement[];
  [RECORD.beside]?: RecordedSettlement[];
  [RECORD.superseded]?: string[];
  [RECORD.repairs]?: RecordedSettlement[];
}

export interface RecordedMerge {
  [MERGED.from]: string;
  [MERGED.generation]: number;
  [MERGED.streaks]: 0 | 1;
  [MERGED.answer]: string;
  [MERGED.seal]?: string;
}

/** An event that a guard stopped or, without the event's fields, one that was dropped from quarantine. */
export interface GuardedRecord {
  [kindField]: typeof KIND.guarded;
  [RECORD.id]: string;
  [RECORD.userId]: string;
  [RECORD.atMs]: number;
  [RECORD.guard]: RecordedGuard;
  [RECORD.day]?: number;
  [RECORD.metric]?: number;
  [RECORD.value]?: PackedTotal;
  [RECORD.total]?: PackedTotal;
  [RECORD.streak]?: RecordedStreak;
  [RECORD.attributes]?: string;
  [RECORD.idempotencyKey]?: string;
}

/** A user was imported. Settlements and pauses are as in other records; a settlement with a length includes its time. */
export interface ImportedRecord {
  [kindField]: typeof KIND.imported;
  [RECORD.id]: string;
  [RECORD.userId]: string;
  [RECORD.atMs]: number;
  [RECORD.zone]: string;
  [RECORD.days]: PackedImportedDay[];
  [RECORD.awards]: PackedImportedAward[];
  [RECORD.completions]: PackedCompletion[];
  [RECORD.settlements]: RecordedSettlement[];
  [RECORD.pauses]: PackedPause[];
  [RECORD.tiers]?: RecordedTier[];
}

export interface PackedImportedDay {
  [IMPORTED_DAY.metric]: number;
  [IMPORTED_DAY.day]: number;
  [IMPORTED_DAY.change]: string;
  [IMPORTED_DAY.total]: string;
}

export interface PackedImportedAward {
  [IMPORTED_AWARD.system]: number;
  [IMPORTED_AWARD.trigger]: number;
  [IMPORTED_AWARD.awarded]: number;
  [IMPORTED_AWARD.after]: number;
  [IMPORTED_AWARD.atMs]: number;
  [IMPORTED_AWARD.day]: number;
  [IMPORTED_AWARD.boosts]: number[];
}

export interface RecordedGuard {
  [GUARDED.guard]: number;
  [GUARDED.action]: number;
  [GUARDED.whole]?: number;
  [GUARDED.micros]?: number;
}

// Packed arrays are declared by position, so that code can access them only through the positions' names.

export interface RecordedReversal {
  [REVERSAL.root]: string;
  [REVERSAL.reversed]: string;
  [REVERSAL.voids]: 0 | 1;
  [REVERSAL.awards]: Compensated[];
  [REVERSAL.revoked]: PackedCompletion[];
  [REVERSAL.restored]: PackedCompletion[];
  [REVERSAL.shortfalls]: Shortfall[];
  [REVERSAL.endedStreak]?: number;
}

export interface RecordedRecomputation {
  [RECOMPUTATION.job]: string;
  [RECOMPUTATION.reverts]: 0 | 1;
  [RECOMPUTATION.revoked]: PackedCompletion[];
  [RECOMPUTATION.restored]: PackedCompletion[];
  [RECOMPUTATION.awards]: Compensated[];
  [RECOMPUTATION.shortfalls]: Shortfall[];
  [RECOMPUTATION.skipped]: number[];
  [RECOMPUTATION.scores]?: RecomputedScore[];
}

export interface RecomputedScore {
  [RECOMPUTED_SCORE.board]: number;
  [RECOMPUTED_SCORE.runDay]: number;
  [RECOMPUTED_SCORE.whole]: number;
  [RECOMPUTED_SCORE.micros]: number;
  [RECOMPUTED_SCORE.oldGroup]: string;
  [RECOMPUTED_SCORE.group]: string;
  [RECOMPUTED_SCORE.was]?: HistorySum;
  [RECOMPUTED_SCORE.is]?: HistorySum;
}

export interface Compensated {
  [COMPENSATED.award]: string;
  [COMPENSATED.system]: number;
  [COMPENSATED.trigger]: number;
  [COMPENSATED.points]: number;
  [COMPENSATED.day]?: number;
  [COMPENSATED.atMs]?: number;
}

/** COMPLETED. */
export interface PackedCompletion {
  [COMPLETED.achievement]: number;
  [COMPLETED.atMs]: number;
  [COMPLETED.causedBy]?: string | null | false;
  [COMPLETED.period]?: number;
}

export interface RecordedQuest {
  [RECORDED_QUEST.achievement]: number;
  [RECORDED_QUEST.period]: number;
  [RECORDED_QUEST.times]: number;
  [RECORDED_QUEST.whole]: number;
  [RECORDED_QUEST.micros]: number;
  [RECORDED_QUEST.completed]: number;
}

export interface Shortfall {
  [SHORTFALL.system]: number;
  [SHORTFALL.points]: number;
}

export interface RecordedSettlement {
  [SETTLEMENT.frequency]: number;
  [SETTLEMENT.kind]: (typeof SETTLED)[keyof typeof SETTLED];
  [SETTLEMENT.firstDay]: number;
  [SETTLEMENT.lastDay]: number;
  [SETTLEMENT.length]?: number;
  [SETTLEMENT.atMs]?: number;
}

/** Follows the records of a batch step in the outbox: the progress of the shard's batches (`batches.ts`). */
export interface ProgressRecord {
  [kindField]: typeof KIND.progress;
  [RECORD.progress]: string;
}

export interface RecordedStreak {
  [RECORDED_STREAK.length]: number;
  [RECORDED_STREAK.startDay]: number;
  [RECORDED_STREAK.lastPeriod]: number;
  [RECORDED_STREAK.extended]: number;
  [RECORDED_STREAK.freezes]: number;
  [RECORDED_STREAK.offDays]?: number;
}

export interface RecordedPoints {
  [RECORDED_POINTS.system]: number;
  [RECORDED_POINTS.before]: number;
  [RECORDED_POINTS.after]: number;
  [RECORDED_POINTS.awards]: RecordedAward[];
}

export interface RecordedBalanceChange {
  [BALANCE_CHANGE.system]: number;
  [BALANCE_CHANGE.kind]: (typeof BALANCE)[keyof typeof BALANCE];
  [BALANCE_CHANGE.amount]: number;
  [BALANCE_CHANGE.balance]: number;
  [BALANCE_CHANGE.of]: string | false;
  [BALANCE_CHANGE.expiresMs]: number | false;
  [BALANCE_CHANGE.reason]: string | false;
  [BALANCE_CHANGE.reference]: string | false;
  [BALANCE_CHANGE.idempotencyKey]: string | false;
  [BALANCE_CHANGE.holdEndDay]?: number | false;
  [BALANCE_CHANGE.reward]?: number;
}

export interface RecordedAward {
  [AWARD.trigger]: number;
  [AWARD.awarded]: number;
  [AWARD.after]: number;
  [AWARD.boosts]: number[];
  [AWARD.day]?: number;
}

export interface RecordedBoard {
  [RECORDED_BOARD.board]: number;
  [RECORDED_BOARD.runDay]: number;
  [RECORDED_BOARD.group]: string;
  [RECORDED_BOARD.previousRank]: number;
  [RECORDED_BOARD.rank]: number;
  [RECORDED_BOARD.threshold]: number;
  [RECORDED_BOARD.previousScore]?: number;
  [RECORDED_BOARD.score]?: number;
  [RECORDED_BOARD.previousReached]?: number | string;
  [RECORDED_BOARD.reached]?: number | string;
}

export type UncheckedRecord = { [field in (typeof RECORD)[keyof typeof RECORD]]?: unknown };

export type StreakRefusal = (typeof STREAK_REFUSAL)[keyof typeof STREAK_REFUSAL];

/** The scripts' other answers, which are not recorded. `refusal-fields.ts` describes them. */
export type Refusal =
  | {
      [kindField]: typeof REFUSAL.replay;
      [REPLAY.use]: string;
      [REPLAY.total]: PackedTotal;
      [REPLAY.streak]: RecordedStreak;
      [REPLAY.day]: number;
      [REPLAY.quarantined]?: string;
    }
  | { [kindField]: typeof REFUSAL.outOfPoints; [BLOCKED.trigger]: number }
  | { [kindField]: typeof REFUSAL.insufficient; [INSUFFICIENT.balance]: number }
  | { [kindField]: typeof REFUSAL.manyHolds | typeof REFUSAL.notHeld }
  | {
      [kindField]: typeof REFUSAL.outOfRange;
      [OUT_OF_RANGE.metric]: number;
      [OUT_OF_RANGE.sum]: (typeof SUM)[keyof typeof SUM];
      [OUT_OF_RANGE.no]?: number;
    }
  | { [kindField]: typeof REFUSAL.tooLarge | typeof REFUSAL.profileTooLarge }
  | { [kindField]: typeof REFUSAL.unknownUse; [UNKNOWN_USE.token]?: string; [UNKNOWN_USE.generation]?: number }
  | { [kindField]: typeof REFUSAL.tooManyKeys; [TOO_MANY_KEYS.waitMs]: number }
  | { [kindField]: typeof REFUSAL.noAddress }
  | { [kindField]: typeof REFUSAL.futureSignUp }
  | { [kindField]: typeof REFUSAL.serverOnly; [SERVER_ONLY.no]: number }
  | { [kindField]: typeof REFUSAL.unknownUser | typeof REFUSAL.held }
  | { [kindField]: typeof REFUSAL.merged; [MERGED_INTO.userId]: string }
  | { [kindField]: typeof REFUSAL.locked }
  | { [kindField]: typeof REFUSAL.unchanged; [UNCHANGED.why]: StreakRefusal; [UNCHANGED.day]: number }
  | { [kindField]: typeof REFUSAL.notQuarantined }
  | { [kindField]: typeof REFUSAL.unmetConditions }
  | { [kindField]: typeof REFUSAL.required; [REQUIRED.missing]: number[] }
  | { [kindField]: typeof REFUSAL.outdated; [OUTDATED.whole]?: number; [OUTDATED.micros]?: number };

export type ScriptReply = HappenedRecord | GoneRecord | GuardedRecord | Refusal;

/** The result of a batch event that was not applied. */
export interface UnsentReply {
  [kindField]: typeof REFUSAL.unsent;
  [UNSENT.code]: ErrorCode;
  [UNSENT.message]: string;
}
