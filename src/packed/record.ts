import type { kindField, RECORD, KIND } from './record-fields.ts';
import type {
  BLOCKED,
  MAYBE_STORED,
  OUT_OF_RANGE,
  REPLAY,
  UNCHANGED,
  UNKNOWN_OFFSET,
  UNKNOWN_USE,
  REFUSAL,
  STREAK_REFUSAL,
  SUM,
} from './refusal-fields.ts';

/**
 * What a script says of one thing that happened: its answer to the caller, and the record in the outbox. A msgpack map;
 * `record-fields.ts` says what its fields mean.
 */
export interface HappenedRecord {
  [kindField]: typeof KIND.event | typeof KIND.user | typeof KIND.completion | typeof KIND.streaks;
  [RECORD.id]: string;
  [RECORD.userId]: string;
  [RECORD.atMs]: number;
  [RECORD.day]: number;
  [RECORD.isNew]?: 1;
  [RECORD.changed]?: 1;
  [RECORD.metric]?: number;
  [RECORD.value]?: [whole: number, micros: number];
  [RECORD.total]?: [whole: number, micros: number];
  [RECORD.streak]?: RecordedStreak;
  [RECORD.completed]?: number[];
  [RECORD.points]?: RecordedPoints[];
  [RECORD.boards]?: RecordedBoard[];
  [RECORD.attributes]?: string;
  [RECORD.idempotencyKey]?: string;
  [RECORD.due]?: 1;
  [RECORD.settlements]?: RecordedSettlement[];
  [RECORD.freezesEarned]?: number;
  [RECORD.freezes]?: number;
  [RECORD.pauses]?: [firstDay: number, lastDay: number, id: string][];
  [RECORD.byAdmin]?: 1;
  [RECORD.backdated]?: 1;
}

/** A user was deleted. What the outbox holds of the user before it is void; what comes after is of a new user. */
export interface GoneRecord {
  [kindField]: typeof KIND.deletion;
  [RECORD.id]: string;
  [RECORD.userId]: string;
  [RECORD.atMs]: number;
  [RECORD.generation]?: number;
}

/** SETTLEMENT. */
export type RecordedSettlement = [frequency: number, kind: number, firstDay: number, lastDay: number, length?: number];

/** What is in the outbox behind the records of a batch's step: the progress of the shard's batches (`batches.ts`). */
export interface ProgressRecord {
  [kindField]: typeof KIND.progress;
  [RECORD.progress]: string;
}

/** RECORDED_STREAK. */
export type RecordedStreak = [
  length: number,
  startDay: number,
  lastPeriod: number,
  extended: number,
  freezes: number,
  daysOffAhead?: number,
];
/** RECORDED_POINTS. */
export type RecordedPoints = [systemNo: number, before: number, after: number, awards: RecordedAward[]];
/** AWARD. */
export type RecordedAward = [triggerNo: number, awarded: number, after: number, boostNos: number[]];
/** RECORDED_BOARD. */
export type RecordedBoard = [
  boardNo: number,
  runDay: number,
  group: string,
  previousRank: number,
  rank: number,
  threshold: number,
];

/** Why a change of a streak cannot be made. */
export type StreakRefusal = (typeof STREAK_REFUSAL)[keyof typeof STREAK_REFUSAL];

/** The other answers of the scripts; they are not recorded. `refusal-fields.ts` says what each means. */
export type Refusal =
  | {
      [kindField]: typeof REFUSAL.replay;
      [REPLAY.use]: number;
      [REPLAY.total]: [whole: number, micros: number];
      [REPLAY.streak]: RecordedStreak;
      [REPLAY.day]: number;
    }
  | { [kindField]: typeof REFUSAL.outOfPoints; [BLOCKED.trigger]: number }
  | {
      [kindField]: typeof REFUSAL.outOfRange;
      [OUT_OF_RANGE.metric]: number;
      [OUT_OF_RANGE.sum]: (typeof SUM)[keyof typeof SUM];
      [OUT_OF_RANGE.no]?: number;
    }
  | { [kindField]: typeof REFUSAL.tooLarge }
  | { [kindField]: typeof REFUSAL.unknownOffset; [UNKNOWN_OFFSET.zone]: string }
  | { [kindField]: typeof REFUSAL.unknownUse; [UNKNOWN_USE.token]?: string; [UNKNOWN_USE.generation]?: number }
  | { [kindField]: typeof REFUSAL.noAddress }
  | { [kindField]: typeof REFUSAL.futureSignUp }
  | { [kindField]: typeof REFUSAL.unknownUser }
  | { [kindField]: typeof REFUSAL.locked }
  | { [kindField]: typeof REFUSAL.unchanged; [UNCHANGED.why]: StreakRefusal; [UNCHANGED.day]: number }
  | { [kindField]: typeof REFUSAL.unmetConditions }
  | { [kindField]: typeof REFUSAL.maybeStored; [MAYBE_STORED.upTo]: string };

export type ScriptReply = HappenedRecord | GoneRecord | Refusal;
