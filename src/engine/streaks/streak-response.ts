import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { periodOf, type Frequency } from '../../domain/periods.ts';
import { settledStreak, streakDates, type StreakAsLeft } from '../../domain/streak.ts';

/** The fields that every answer with a streak has. */
export interface BaseStreak extends ReturnType<typeof streakDates> {
  length: number;
  frequency: Frequency;
  freezes?: number;
  maxFreezes?: number;
  freezeAutoEarnInterval?: number;
  freezeAutoEarnAmount?: number;
}

/** A streak in the configured frequency as it stands on a local day; the freezes where the tenant has them. */
export function baseStreak(
  compiled: CompiledCatalog,
  { streak, freezesLeft, day }: { streak: StreakAsLeft; freezesLeft: number; day: number },
): BaseStreak {
  const { frequency, weekStart, freezes } = compiled.catalog.streaks;
  const settled = settledStreak(streak, periodOf(day, frequency, weekStart));
  return {
    length: settled.length,
    frequency,
    ...streakDates(settled, { day, frequency, weekStart }),
    ...(freezes.enabled && {
      freezes: freezesLeft,
      maxFreezes: freezes.max,
      ...(freezes.autoEarnInterval !== null && { freezeAutoEarnInterval: freezes.autoEarnInterval }),
      ...(freezes.autoEarnAmount !== null && { freezeAutoEarnAmount: freezes.autoEarnAmount }),
    }),
  };
}
