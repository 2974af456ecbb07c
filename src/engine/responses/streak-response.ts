import { earning } from '../../catalog/compile/streak.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { StreaksInForce } from '../../domain/catalog.ts';
import type { Frequency } from '../../domain/periods.ts';
import { settleStreaks, type SettledStreaks, type StreakSettlementRule } from '../../domain/settle-streaks.ts';
import { streakDates, type StreakAsLeft } from '../../domain/streak.ts';
import { dayIn } from '../../domain/zone.ts';
import type { UserState } from '../../packed/state.ts';

/** The fields that every answer with a streak has. */
export interface BaseStreak extends ReturnType<typeof streakDates> {
  length: number;
  frequency: Frequency;
  freezes?: number;
  maxFreezes?: number;
  freezeAutoEarnInterval?: number;
  freezeAutoEarnAmount?: number;
}

/** A settled streak in the configured frequency on a local day; the freezes where the tenant has them. */
export function baseStreak(
  compiled: CompiledCatalog,
  { streak, freezesLeft, day }: { streak: StreakAsLeft; freezesLeft: number; day: number },
): BaseStreak {
  const { frequency, weekStart, freezes } = compiled.catalog.streaks;
  return {
    length: streak.length,
    frequency,
    ...streakDates(streak, { day, frequency, weekStart }),
    ...(freezes.enabled && {
      freezes: freezesLeft,
      maxFreezes: freezes.max,
      ...(freezes.autoEarnInterval !== null && { freezeAutoEarnInterval: freezes.autoEarnInterval }),
      ...(freezes.autoEarnAmount !== null && { freezeAutoEarnAmount: freezes.autoEarnAmount }),
    }),
  };
}

/** By what streaks are settled under some settings. */
export function settlementRule(inForce: StreaksInForce): StreakSettlementRule {
  const { frequency, weekStart, freezes } = inForce.streaks;
  return { frequency, weekStart, frozen: freezes.enabled, earning: earning(inForce) };
}

/** A user's streaks as they stand now, on the user's local day. */
export function settledNow(
  { catalog }: CompiledCatalog,
  state: UserState,
  nowMs: number,
): SettledStreaks & { day: number } {
  const dayAt = (ms: number): number => dayIn(state.tz, ms);
  const day = dayAt(nowMs);
  const earlier = (catalog.streaksBefore ?? [])
    .filter(({ untilMs }) => untilMs >= state.updatedMs && untilMs > (state.settledMs ?? 0))
    .map((one) => ({
      ...settlementRule(one),
      lastDay: dayAt(one.untilMs),
      settled: one.untilMs === state.updatedMs,
    }));
  const { streaks, freezes, settlements } = settleStreaks({ ...state, dayAt }, settlementRule(catalog), day, earlier);
  return { streaks, freezes, settlements, day };
}
