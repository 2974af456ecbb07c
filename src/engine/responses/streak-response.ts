import { earning } from '../../catalog/compile/streak.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Catalog, StreaksInForce } from '../../domain/catalog.ts';
import { daysOffFrom, isOnWeekday, ownDaysOff, weekdaySet, type OwnDaysOff } from '../../domain/days-off.ts';
import type { Frequency } from '../../domain/periods.ts';
import { settleStreaks, type SettledStreaks, type StreakSettlementRule } from '../../domain/settle-streaks.ts';
import { streakDates, type StreakAsLeft } from '../../domain/streak.ts';
import { dayIn } from '../../domain/zone.ts';
import type { RecordedStreak } from '../../packed/record.ts';
import { RECORDED_STREAK } from '../../packed/record-fields.ts';
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

/**
 * A settled streak in the configured frequency on a local day; the freezes where the tenant has them. `offDays`: see
 * `streakDates`.
 */
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

/** The streak that a record holds, on the local day of the record. */
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

/** By what streaks are settled under some settings. */
export function settlementRule(inForce: StreaksInForce): StreakSettlementRule {
  const { frequency, weekStart, freezes } = inForce.streaks;
  return { frequency, weekStart, frozen: freezes.enabled, earning: earning(inForce) };
}

/** Which local days are days off of a user: those that were when the day began. `dayAt`: the user's local day at a time. */
export const daysOffOf =
  ({ streaks, streaksBefore = [] }: Catalog, own: OwnDaysOff | null, dayAt: (ms: number) => number) =>
  (day: number): boolean => {
    const inForce = streaksBefore.find(({ untilMs }) => dayAt(untilMs) >= day)?.streaks ?? streaks;
    if (inForce.frequency !== 'daily') return false;
    const preferred = inForce.personalization ? ownDaysOff(own, day) : null;
    return isOnWeekday(preferred ?? weekdaySet(inForce.daysOff), day);
  };

/**
 * A user's streaks as they stand now, on the user's local day. `offDays`: how many days off follow from the day on by
 * which to act for the streak that counts.
 */
export function settledNow(
  { catalog }: CompiledCatalog,
  state: UserState,
  nowMs: number,
): SettledStreaks & { day: number; offDays: number } {
  const dayAt = (ms: number): number => dayIn(state.tz, ms);
  const day = dayAt(nowMs);
  const earlier = (catalog.streaksBefore ?? [])
    .filter(({ untilMs }) => untilMs >= state.updatedMs && untilMs > (state.settledMs ?? 0))
    .map((one) => ({
      ...settlementRule(one),
      lastDay: dayAt(one.untilMs),
      settled: one.untilMs === state.updatedMs,
    }));
  const isDayOff = daysOffOf(catalog, state.daysOff, dayAt);
  const left = { ...state, createdMs: state.importedMs ?? state.createdMs, dayAt, isDayOff };
  const settled = settleStreaks(left, settlementRule(catalog), day, earlier);
  const { length, lastPeriod } = settled.streaks.daily;
  const counts = catalog.streaks.frequency === 'daily' && length > 0;
  const offDays = counts ? daysOffFrom(Math.max((lastPeriod ?? -1) + 1, day), isDayOff) : 0;
  return { ...settled, day, offDays };
}
