import type { ErrorCode } from '../errors.ts';
import type { Decimal } from '../domain/decimal.ts';
import type { UNSENT_EVENT } from './call-fields.ts';
import type {
  Compensated,
  PackedCompletion,
  PackedImportedAward,
  PackedImportedDay,
  RecordedGuard,
  RecordedSettlement,
} from './record.ts';
import type { HistorySum, PackedPause, PackedTotal } from './state.ts';

// Creates the arrays that TypeScript packs. No other code needs to know the order of their positions.

/** TOTAL of a sum without peak. */
export const packedDecimal = ({ whole, micros }: Decimal): PackedTotal => [whole, micros];

/** PAUSE. Days are epoch days; the ID is 32 hex digits of a UUID. */
export const packedPause = (pause: { firstDay: number; lastDay: number; id: string }): PackedPause => [
  pause.firstDay,
  pause.lastDay,
  pause.id,
];

/** GUARDED of an event that was not clamped. */
export const recordedGuard = ({ guard, action }: { guard: number; action: number }): RecordedGuard => [guard, action];

/** COMPLETED without a known cause. `period`: of a repeating achievement. */
export const packedCompletion = (achievementNo: number, atMs: number, period?: number): PackedCompletion =>
  period === undefined ? [achievementNo, atMs] : [achievementNo, atMs, null, period];

/** COMPENSATED without a single award: points of a trigger that were taken; negative if given. `day`: their date (epoch day). */
export function packedTaken(taken: {
  systemNo: number;
  triggerNo: number;
  points: number;
  day?: number | undefined;
}): Compensated {
  const { systemNo, triggerNo, points, day } = taken;
  return day === undefined ? ['', systemNo, triggerNo, points] : ['', systemNo, triggerNo, points, day];
}

export const historySum = (
  runDay: number,
  { whole, micros, reached = 0, secondary = null }: Decimal & { reached?: number; secondary?: number | null },
): HistorySum => (secondary === null ? [runDay, whole, micros, reached] : [runDay, whole, micros, reached, secondary]);

/** HISTORY_SUM without a score. `floor`: see `floorOf`. */
export const emptyHistorySum = (runDay: number, floor: number): HistorySum => [runDay, floor, 0];

export interface UnsentEvent {
  [UNSENT_EVENT.index]: number;
  [UNSENT_EVENT.code]: ErrorCode;
  [UNSENT_EVENT.message]: string;
}

export const unsentEvent = (index: number, code: ErrorCode, message: string): UnsentEvent => [index, code, message];

export const packedImportedDay = (day: {
  metricNo: number;
  day: number;
  change: bigint;
  total: bigint;
}): PackedImportedDay => [day.metricNo, day.day, String(day.change), String(day.total)];

export const packedImportedAward = (award: {
  systemNo: number;
  triggerNo: number;
  awarded: number;
  total: number;
  atMs: number;
  day: number;
  boostNos: number[];
}): PackedImportedAward => [
  award.systemNo,
  award.triggerNo,
  award.awarded,
  award.total,
  award.atMs,
  award.day,
  award.boostNos,
];

/** Stands for a missing length if a time follows it. */
export const NO_LENGTH = -1;

/** SETTLEMENT with its time. */
export const packedImportedSettlement = (settlement: {
  frequency: number;
  kind: RecordedSettlement[1];
  from: number;
  to: number;
  length: number | null;
  atMs: number;
}): RecordedSettlement => [
  settlement.frequency,
  settlement.kind,
  settlement.from,
  settlement.to,
  settlement.length ?? NO_LENGTH,
  settlement.atMs,
];
