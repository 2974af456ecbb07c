import type { PackedState, PackedStreak } from './state.ts';
import { numbered } from './numbered.ts';
import { STREAK, TOTAL, USER } from './user-fields.ts';

/**
 * What a correction rests on, as text: the user's streaks, freezes, and how many corrections there were. The script that
 * makes the correction compares it with the state that it finds. The same as `lua/lib/fingerprint.lua`.
 */
export function fingerprint(state: PackedState): string {
  const before = [state[USER.corrections] ?? 0, state[USER.freezes] ?? 0, state[USER.earnedDay] ?? ''];
  return [...before, ...(state[USER.streaks] ?? []).flatMap(ofStreak)].join(' ');
}

const ofStreak = (streak: PackedStreak): (number | string)[] => [
  streak[STREAK.length],
  streak[STREAK.startDay],
  streak[STREAK.lastPeriod],
  streak[STREAK.extendedMs],
  streak[STREAK.currentPeriod],
  ...[...numbered(streak[STREAK.sums])]
    .toSorted(([a], [b]) => a - b)
    .map(([no, sum]) => `${no}=${sum[TOTAL.whole]}+${sum[TOTAL.micros]}`),
];
