import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Frequency } from '../../domain/periods.ts';
import type { SettledStreaks } from '../../domain/streaks/settle.ts';
import { type StreakAsLeft, streakDates } from '../../domain/streaks/streak.ts';
import { dayIn } from '../../domain/zone.ts';
import { RECORDED_STREAK } from '../../packed/record-fields.ts';
import type { RecordedStreak } from '../../packed/record.ts';
import { daysOffAhead, localDayIn, settledStreaks } from '../../rules/streaks.ts';

/** The fields that every response with a streak has. */
export interface BaseStreak extends ReturnType<typeof streakDates> {
  length: number;
  frequency: Frequency;
  freezes?: number;
  maxFreezes?: number;
  freezeAutoEarnInterval?: number;
  freezeAutoEarnAmount?: number;
}

/** A settled streak on a local day, with freezes if the tenant uses them. `offDays`: see `streakDates`. */
export function baseStreak(
  compiled: CompiledCatalog,
  { streak, freezesLeft, day, offDays }: { streak: StreakAsLeft; freezesLeft: number; day: number; offDays: number },
): BaseStreak {
  const { frequency, weekStart, freezes } = compiled.catalog.streaks;
  return {
    length: streak.length,
    frequency,
    ...streakDates(streak, { day, frequency, weekStart, offDays }),
    ...(freezes.enabled && {
      freezes: freezesLeft,
      maxFreezes: freezes.max,
      ...(freezes.autoEarnInterval !== null && { freezeAutoEarnInterval: freezes.autoEarnInterval }),
      ...(freezes.autoEarnAmount !== null && { freezeAutoEarnAmount: freezes.autoEarnAmount }),
    }),
  };
}

/** The streak in a record, on the record's local day. */
export function recordedStreak(compiled: CompiledCatalog, recorded: RecordedStreak, day: number): BaseStreak {
  const startDay = recorded[RECORDED_STREAK.startDay];
  const streak = {
    length: recorded[RECORDED_STREAK.length],
    startDay: startDay === -1 ? null : startDay,
    lastPeriod: recorded[RECORDED_STREAK.lastPeriod],
  };
  const freezesLeft = recorded[RECORDED_STREAK.freezes];
  return baseStreak(compiled, { streak, freezesLeft, day, offDays: recorded[RECORDED_STREAK.offDays] ?? 0 });
}

/** Settles a user's streaks up to now. `offDays`: consecutive days off after the day by which the user must act. */
export function settledNow(
  { catalog, streakRule }: CompiledCatalog,
  state: Parameters<typeof settledStreaks>[0] & { zone: string | null },
  nowMs: number,
): SettledStreaks & { day: number; offDays: number } {
  const dayAt = (ms: number): number => dayIn(state.zone, ms);
  const day = dayAt(nowMs);
  const settled = settledStreaks(state, streakRule, localDayIn(day, catalog.streaks.weekStart), dayAt);
  const { streaks } = settled;
  return { ...settled, day, offDays: daysOffAhead({ streaks, daysOff: state.daysOff }, streakRule, day, dayAt) };
}
