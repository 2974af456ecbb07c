import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { type Activity, type ActivityDay, MAX_DAYS, type RecentCompletion } from '../../domain/history.ts';
import { COUNTED, SEGMENT } from '../../domain/analytics.ts';
import { microsNumber } from '../../domain/decimal.ts';
import { dateOf, dayOf, type Days, isDate, epochDay } from '../../domain/periods.ts';
import { AppError } from '../../errors.ts';
import { COUNTER } from '../../packed/call-fields.ts';
import { readSums, readSumsByDay } from '../../postgres/analytics.ts';
import { readDays } from '../../postgres/history/activity.ts';
import { newestCompletions } from '../../postgres/persist/events.ts';
import { userNames } from '../leaderboards/standings.ts';
import type { CaughtUp } from '../persist/caught-up-reads.ts';
import { tenantCounters } from '../../redis/parts.ts';

/** Reads the activity of a whole tenant. Includes everything answered before, unless Postgres is far behind; see `CaughtUp`. */
export function createActivityReads(redis: Redis, pool: Pool, clock: Clock, caughtUp: Pick<CaughtUp, 'tenant'>) {
  /** Events and points count as in `AnalyticsReads`, so that both give the same sums. */
  async function days({ catalog }: CompiledCatalog, requested: { from?: string; to?: string }): Promise<Activity> {
    const { tenantNo, pointsSystems } = catalog;
    const { fromDay, toDay } = activityDays(requested, clock.now());
    await caughtUp.tenant(tenantNo);
    const ofEveryone = { tenantNo, segment: SEGMENT.everyone, fromDay, toDay };
    const [counted, happened, awards, [users = 0]] = await Promise.all([
      readDays(pool, ofEveryone),
      readSumsByDay(pool, { ...ofEveryone, kinds: [COUNTED.events] }),
      readSums(pool, { ...ofEveryone, kinds: [COUNTED.awarded] }),
      tenantCounters(redis, tenantNo, [COUNTER.users]),
    ]);
    const events = new Map(happened.map((sum) => [sum.day, sum.events]));
    const range = Array.from({ length: toDay - fromDay + 1 }, (_, index) => fromDay + index);
    const days = range.map((day): ActivityDay => {
      const { events: eventsReceived = 0, activeUsers = 0, newUsers = 0, completions = 0 } = counted.get(day) ?? {};
      return {
        date: dateOf(day),
        events: events.get(day) ?? 0,
        eventsReceived,
        activeUsers,
        newUsers,
        achievementsCompleted: completions,
      };
    });
    // Rows are of a trigger and a day each; a year of a large tenant has tens of thousands.
    const awardedOf = new Map<string, bigint>();
    for (const { part, day, value } of awards)
      awardedOf.set(`${part} ${day}`, (awardedOf.get(`${part} ${day}`) ?? 0n) + value);
    const awarded = (no: number, day: number): number => microsNumber(awardedOf.get(`${no} ${day}`) ?? 0n);
    return {
      from: dateOf(fromDay),
      to: dateOf(toDay),
      users,
      days,
      pointsSystems: pointsSystems.map(({ id, key, name, no }) => ({
        id,
        key,
        name,
        awarded: range.map((day) => awarded(no, day)),
      })),
    };
  }

  /** The latest completions of achievements that still exist, newest first; at most 20. */
  async function completions(compiled: CompiledCatalog): Promise<RecentCompletion[]> {
    const { tenantNo, achievements } = compiled.catalog;
    await caughtUp.tenant(tenantNo);
    const newest = await newestCompletions(pool, tenantNo);
    const names = await userNames(redis, tenantNo, newest);
    return newest.flatMap(({ userId, achievementNo, at }, index) => {
      const achievement = achievements.find(({ no }) => no === achievementNo);
      if (achievement === undefined) return [];
      return [
        {
          userId,
          userName: names[index] ?? null,
          achievementId: achievement.id,
          achievementName: achievement.name,
          badgeUrl: achievement.badgeUrl ?? null,
          at: at.toISOString(),
        },
      ];
    });
  }

  return { days, completions };
}

/** Default number of days. */
const SHOWN = 30;

/**
 * The days between two UTC dates, both included; by default the last 30 up to today. Throws 422 for a date that does
 * not exist, and for a range that ends before it begins or has more than 366 days.
 */
export function activityDays({ from, to }: { from?: string; to?: string }, nowMs: number): Days {
  for (const [name, date] of Object.entries({ from, to }))
    if (date !== undefined && !isDate(date))
      throw unprocessable(`${name} is not a date: give a day that exists as YYYY-MM-DD.`);
  const toDay = to === undefined ? Math.max(epochDay(nowMs), dayOf(from ?? '1970-01-01')) : dayOf(to);
  const fromDay = from === undefined ? toDay - SHOWN + 1 : dayOf(from);
  if (toDay < fromDay) throw unprocessable('to is before from: a range ends on or after the day it begins.');
  if (toDay - fromDay >= MAX_DAYS)
    throw unprocessable(
      `The range from ${dateOf(fromDay)} to ${dateOf(toDay)} has more than ${MAX_DAYS} days: ask for parts of it.`,
    );
  return { fromDay, toDay };
}

const unprocessable = (text: string): AppError => new AppError('unprocessable', text);
