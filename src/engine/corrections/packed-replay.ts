import { FREQUENCIES } from '../../domain/periods.ts';
import type { Settlement } from '../../domain/streaks/settle.ts';
import { SETTLED } from '../../packed/record-fields.ts';
import type { RecordedSettlement } from '../../packed/record.ts';
import { SETTLEMENT_KINDS } from '../../postgres/persist/streaks.ts';
import type { ReplayedStreaks } from '../../rules/event.ts';
import type { StreakReplay } from '../../rules/streak-replay.ts';

/** The replay's streaks and freezes, which replace the user's, and the changes up to now that are not stored yet. */
export const replayedStreaks = ({ streaks, freezes, earnedDay, unstored }: StreakReplay): ReplayedStreaks => ({
  streaks,
  freezes,
  earnedDay,
  settlements: {
    streaks: unstored.settlements,
    beside: unstored.gains.map(({ kind, day, count }) => ({ kind, day, count })),
  },
});

/** The stored changes that no longer hold, and those that replace them. */
export const repairsOf = ({ superseded, settlements, gains }: StreakReplay) => ({
  superseded,
  repairs: [...settlements.map(packedSettlement), ...gains.map(packedGain)] as unknown as RecordedSettlement[],
});

function packedSettlement(settlement: Omit<Settlement, 'atMs'> & { atMs?: number | undefined }): number[] {
  const { frequency, kind, from, to, length, atMs } = settlement;
  const packed = [FREQUENCIES.indexOf(frequency) + 1, SETTLEMENT_KINDS.indexOf(kind) + 1, from, to];
  if (length !== null) packed.push(length);
  if (length !== null && atMs !== undefined) packed.push(atMs);
  return packed;
}

function packedGain(gain: Omit<StreakReplay['gains'][number], 'atMs'> & { atMs?: number | undefined }): number[] {
  const { kind, day, count, atMs } = gain;
  const packed = [0, SETTLED[kind], day, day, count];
  if (kind === 'given' && atMs !== undefined) packed.push(atMs);
  return packed;
}
