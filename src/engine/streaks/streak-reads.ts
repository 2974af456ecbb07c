import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { dateOf, periodEnd, periodOf, periodStart, isoTimeOrNull } from '../../domain/periods.ts';
import { type Calendar, reachedLengths, resetPeriods, upToResets } from '../../domain/streaks/reached-lengths.ts';
import type { Settlement } from '../../domain/streaks/settle.ts';
import type { BulkStreakResponse, StreakAsLeft, StreakResponse } from '../../domain/streaks/streak.ts';
import { uuidText } from '../../domain/schemas.ts';
import { dayIn } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { streakChangesSince } from '../../postgres/history/streaks.ts';
import { baseStreak, settledNow } from '../responses/streaks.ts';
import type { UserReads } from '../users/user-reads.ts';
import { packedUsers } from '../../redis/parts.ts';

const MAX_PERIODS = 1000;
const MAX_USERS = 100;

export function createStreakReads(redis: Redis, pool: Pool, users: UserReads, clock: Clock) {
  /**
   * A user's streak with `historyPeriods` periods, oldest first, the current one last. Throws 404 for an unknown user,
   * 422 for a number outside 0 to 1,000. Settlements of periods before the streak in the user's state come from
   * Postgres, so the latest one may be missing.
   */
  async function ofUser(compiled: CompiledCatalog, userId: string, historyPeriods: number): Promise<StreakResponse> {
    if (historyPeriods < 0 || historyPeriods > MAX_PERIODS)
      throw new AppError('unprocessable', `historyPeriods must be from 0 to ${MAX_PERIODS}.`);
    const state = await users.state(compiled.catalog.tenantNo, userId);
    const { streaks: settings } = compiled.catalog;
    const { frequency, weekStart } = settings;
    const { day, streaks, freezes, settlements, offDays } = settledNow(compiled, state, clock.now());
    const live = streaks[frequency];
    const current = periodOf(day, frequency, weekStart);
    const base = baseStreak(compiled, { streak: live, freezesLeft: freezes, day, offDays });
    const oldest = current - historyPeriods + 1;
    const stored =
      historyPeriods > 0
        ? await streakChangesSince(pool, {
            tenantNo: compiled.catalog.tenantNo,
            userId,
            frequency,
            // A streak that was reset in the oldest period may have started just one period earlier.
            fromDay: Math.min(periodStart(oldest - 1, frequency, weekStart), live.startDay ?? day),
          })
        : [];
    const unstored = settlements.filter((settlement) => settlement.frequency === frequency);
    return {
      ...base,
      extended: extendedAt(base.length, state.streaks[frequency].extendedMs),
      streakHistory: streakHistory({
        live,
        settlements: [...stored, ...unstored],
        current,
        count: historyPeriods,
        calendar: settings,
        dayAt: (ms) => dayIn(state.zone, ms),
      }),
      pauses: state.pauses
        .filter(({ to }) => to >= day)
        .map(({ id, from, to }) => ({ id: uuidText(id), start: dateOf(from), end: dateOf(to) })),
    };
  }

  /** Streak lengths of 1 to 100 users, longest first; 0 for an unknown user. Throws 422. */
  async function list(compiled: CompiledCatalog, userIds: readonly string[]): Promise<BulkStreakResponse> {
    const distinctIds = [...new Set(userIds)];
    if (distinctIds.length === 0 || distinctIds.length > MAX_USERS)
      throw new AppError('unprocessable', `userIds must name 1 to ${MAX_USERS} users.`);
    const { tenantNo } = compiled.catalog;
    const states = await packedUsers(redis, tenantNo, distinctIds);
    return distinctIds
      .map((userId, index) => {
        const packed = states[index] ?? null;
        return { userId, ...standing(compiled, packed === null ? null : decodeUser(packed)) };
      })
      .sort((a, b) => b.streakLength - a.streakLength);
  }

  function standing(compiled: CompiledCatalog, state: User | null): { streakLength: number; extended: string | null } {
    if (state === null) return { streakLength: 0, extended: null };
    const { frequency } = compiled.catalog.streaks;
    const { length } = settledNow(compiled, state, clock.now()).streaks[frequency];
    return { streakLength: length, extended: extendedAt(length, state.streaks[frequency].extendedMs) };
  }

  return { ofUser, list };
}

export type StreakReads = ReturnType<typeof createStreakReads>;

const extendedAt = (length: number, extendedMs: number | null): string | null =>
  length === 0 ? null : isoTimeOrNull(extendedMs);

/**
 * The streak's length in each of the last `count` periods, oldest first, the current one last, with what excused them
 * (see `reachedLengths`). A period that was neither met nor excused has 0; the current one, while it is open, has the
 * length so far. A period in which the streak was reset says when; its earlier length no longer counts.
 * @param live the settled streak
 * @param settlements the settlements of the user's streaks in this frequency, in order
 * @param dayAt the user's local day at a time (epoch ms)
 */
export function streakHistory(history: {
  live: StreakAsLeft;
  settlements: readonly Settlement[];
  current: number;
  count: number;
  calendar: Calendar;
  dayAt: (ms: number) => number;
}): StreakResponse['streakHistory'] {
  const { live, settlements, current, count, calendar, dayAt } = history;
  const { frequency, weekStart } = calendar;
  const resets = resetPeriods(settlements, calendar, dayAt);
  const counted = upToResets(settlements, resets, calendar);
  const { reached, excused } = reachedLengths({ met: [], settlements: counted, live, calendar });
  const resetAt = new Map([...resets].map(([{ atMs }, period]) => [period, new Date(atMs!).toISOString()]));
  return Array.from({ length: count }, (_, index) => {
    const period = current - count + 1 + index;
    return {
      periodStart: dateOf(periodStart(period, frequency, weekStart)),
      periodEnd: dateOf(periodEnd(period, frequency, weekStart)),
      length: period === current ? live.length : (reached.get(period)?.length ?? 0),
      usedFreeze: excused.get(period) === 'freeze',
      usedPause: excused.get(period) === 'pause',
      ...(resetAt.has(period) && { resetAt: resetAt.get(period)! }),
    };
  });
}
