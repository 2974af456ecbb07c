import type { PackedImportedAward, PackedImportedDay, RecordedSettlement } from './record.ts';

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
