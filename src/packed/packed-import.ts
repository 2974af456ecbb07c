import type { Decimal } from '../domain/decimal.ts';
import type { OwnDaysOff } from '../domain/periods.ts';
import type { SignUp } from '../domain/anniversary.ts';
import type { PackedImportedAward, PackedImportedDay, RecordedSettlement } from './record.ts';
import type { PackedScores, PackedState, PackedStays, PackedThreshold, PackedTotal } from './state.ts';
import { TOTAL, type USER } from './user-fields.ts';

// Creates the arrays of an import. No other code needs to know the order of their positions.

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

/** TOTAL. `peak`: whole part of the highest total ever. */
export function packedTotal({ whole, micros }: Decimal, peak: number): PackedTotal {
  const packed: PackedTotal = [whole, micros];
  if (peak > whole) packed[TOTAL.peak] = peak;
  return packed;
}

export const packedSignUp = ({ day, years, sinceMs }: SignUp): NonNullable<PackedState[typeof USER.signUp]> => [
  day,
  years,
  sinceMs,
];

/** STREAK_RULE. Absent fields follow the tenant's. */
export const packedStreakRule = (rule: {
  enabled?: boolean | null;
  all?: boolean | null;
  metrics?: readonly (Decimal & { metric: number })[];
}): NonNullable<PackedState[typeof USER.streakRule]> => [
  packedFlag(rule.enabled),
  packedFlag(rule.all),
  (rule.metrics ?? []).map(({ metric, whole, micros }): PackedThreshold => [metric, whole, micros]),
];

const packedFlag = (flag: boolean | null | undefined): number => Number(flag ?? -1);

/** DAYS_OFF that replace the tenant's. */
export const packedDaysOff = (
  off: Pick<OwnDaysOff, 'set' | 'fromDay'>,
): NonNullable<PackedState[typeof USER.daysOff]> => [off.set, off.fromDay, -1];

/** SCORE of one run. */
export const packedScore = (score: { boardNo: number; runDay: number; group: string } & Decimal): PackedScores => [
  score.boardNo,
  score.runDay,
  score.group,
  score.whole,
  score.micros,
];

/** A STAY since ever. */
export const packedStay = (stay: { boardNo: number; runDay: number; team: string } & Decimal): PackedStays => [
  stay.boardNo,
  stay.runDay,
  0,
  stay.team,
  stay.whole,
  stay.micros,
];
