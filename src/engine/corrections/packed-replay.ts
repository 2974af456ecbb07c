import type { PlanAchievement, PlanBoard } from '../../rules/plan.ts';
import type { Micros } from '../../domain/decimal.ts';
import type { StreakReplay } from '../../domain/streaks/replay.ts';
import { FREQUENCIES, type Settlement } from '../../domain/streaks/settle.ts';
import type { RunningStreak } from '../../domain/streaks/streak-machine.ts';
import type { HistorySum } from '../../packed/state.ts';
import { SETTLED } from '../../packed/record-fields.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import { SETTLEMENT_KINDS } from '../../postgres/persist/streaks.ts';

/** A replay as `lua/lib/replay.lua` takes it. Settlements are packed as SETTLEMENT, streaks as STREAK. */
export interface Replayed {
  streaks: (number | Record<number, [number, number]>)[][];
  freezes: number;
  /** The day from which the interval for the next freeze counts; omitted if none has started. */
  earned?: number;
  /** The changes of the streaks up to now and the freezes gained, as far as they are not stored yet; and the number of each. */
  settlements: number[][];
  beside: number[][];
  gained: number;
}

/** The replay's streaks and freezes, which replace the user's. */
export const replayed = ({ streaks, freezes, earnedDay, unstored }: StreakReplay): Replayed => ({
  streaks: FREQUENCIES.map((each) => packedStreak(streaks[each])),
  freezes,
  ...(earnedDay !== null && { earned: earnedDay }),
  settlements: unstored.settlements.map((one) => packedSettlement({ ...one, atMs: undefined })),
  beside: unstored.gains.map((gain) => packedGain({ ...gain, atMs: undefined })),
  gained: unstored.gains.reduce((sum, { count }) => sum + count, 0),
});

/** The stored changes that no longer hold, and those that replace them. */
export const repairsOf = ({ superseded, settlements, gains }: StreakReplay) => ({
  superseded,
  repairs: [...settlements.map(packedSettlement), ...gains.map(packedGain)],
});

function packedSettlement({
  frequency,
  kind,
  from,
  to,
  length,
  atMs,
}: Omit<Settlement, 'atMs'> & { atMs?: number | undefined }): number[] {
  const packed = [FREQUENCIES.indexOf(frequency) + 1, SETTLEMENT_KINDS.indexOf(kind) + 1, from, to];
  if (length !== null) packed.push(length);
  if (length !== null && atMs !== undefined) packed.push(atMs);
  return packed;
}

function packedGain({
  kind,
  day,
  count,
  atMs,
}: Omit<StreakReplay['gains'][number], 'atMs'> & { atMs?: number | undefined }): number[] {
  const packed = [0, SETTLED[kind], day, day, count];
  if (kind === 'given' && atMs !== undefined) packed.push(atMs);
  return packed;
}

export const packedStreak = ({ length, startDay, lastPeriod, extendedMs, currentPeriod, sums }: RunningStreak) => [
  length,
  startDay ?? -1,
  lastPeriod ?? -1,
  extendedMs ?? -1,
  currentPeriod ?? -1,
  Object.fromEntries([...sums].map(([no, sum]) => [no, packedMicros(sum)])),
];

/** A TOTAL without peak: both parts have the same sign. */
const packedMicros = (micros: Micros): [number, number] => [Number(micros / MILLION), Number(micros % MILLION)];
const MILLION = 1_000_000n;

/** The argument of `lua/reverse_event.lua`, which uses these names. */
export interface ReversalPlan {
  /** See `stateDigest`. */
  expected: string;
  /** 32 hex digits. `root`: the original event. `reversed`: that event, or its last reversal. */
  root: string;
  reversed: string;
  /** True if the original event stops counting; false if it counts again. */
  voids: boolean;
  metric: number;
  /** The value of the reversed event. */
  whole: number;
  micros: number;
  /** When the original event happened, and the user's local day (epoch day) then. */
  occurredMs: number;
  occurredDay: number;
  /** The local day (epoch day) of its awards. A late event awards on the day on which it arrives. */
  day: number;
  /** Event attributes as JSON; omitted if there are none. */
  attributes?: string;
  /** The user's streaks and freezes after the reversal (`lua/lib/replay.lua`), and the stored changes that no longer hold. */
  replayed: Replayed;
  superseded: string[];
  repairs: number[][];
  /** Numbers of the achievements and triggers that counted the event. */
  counted: number[];
  /** Periods of repeating achievements in which the event counted. */
  quests: { no: number; period: number }[];
  /** Points to take; negative if they are given back. */
  awards: Compensated[];
  /** IDs of awards that stay unchanged because another reversal in force has already taken them. */
  held: string[];
  /** Maximum points of the systems, by number. */
  limits: Record<number, number>;
  revoked: Revocation[];
  restored: PackedCompletion[];
  /** Changes in the non-final runs in which the event counted. */
  boards: BoardMove[];
}

/**
 * An achievement to revoke unless the user still qualifies, and its awards that the event itself does not include. Of a repeating
 * one whose period no longer suffices: that completion, and the time of the user's latest other one (epoch ms).
 */
export interface Revocation {
  achievement: Pick<PlanAchievement, 'no'>;
  awards: Compensated[];
  period?: PackedCompletion;
  latest?: number;
}

export interface BoardMove {
  board: PlanBoard;
  /** First day of the run (epoch day). */
  run: number;
  /** On boards of the metric's highest sum. */
  whole?: number;
  micros?: number;
  /** When the event was applied (epoch ms). */
  atMs?: number;
  /** On other boards of the metric: the score that remains. */
  score?: HistorySum;
  /** On boards of points: each award whose points are taken or given back (32 hex digits), and its time (epoch ms). */
  awards?: { id: string; atMs: number }[];
}
