/** The UTC days on which users were active: the days on which events happened, also those of late events. */
import type { PoolClient } from 'pg';
import { mondayOf, monthOf, nextMonthOf, WEEK_DAYS } from '../../domain/analytics.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { activeDays, type UserDays } from '../../postgres/history/active-days.ts';
import { epochDay } from '../../domain/periods.ts';

/** A UTC day (epoch day) on which a user was active for the first time, and whether that is new in its week and month. */
export interface NewActiveDay {
  day: number;
  isNewInWeek: boolean;
  isNewInMonth: boolean;
}

/** The UTC day on which an event happened. A time that is ahead of Laurel's clock counts as now. */
const happenedOn = (record: HappenedRecord): number =>
  epochDay(Math.min(record[RECORD.occurredMs] ?? Infinity, record[RECORD.atMs]));

/** `before`: the user's last active day before this one, -1 for none. */
export const newActiveDay = (day: number, before: number): NewActiveDay => ({
  day,
  isNewInWeek: before < mondayOf(day),
  isNewInMonth: before < monthOf(day),
});

/** The new active day of a record, if the user's state says so; `null` for none, and for late events (`isLate`). */
export function activeDayOf(record: HappenedRecord): NewActiveDay | null {
  const before = record[RECORD.activeBefore];
  return before === undefined ? null : newActiveDay(happenedOn(record), before);
}

/** Whether an event happened on an earlier day than the user's last active one: only stored events say if that day is new. */
export const isLate = (record: HappenedRecord): boolean =>
  record[kindField] === KIND.event &&
  record[RECORD.occurredMs] !== undefined &&
  record[RECORD.activeBefore] === undefined &&
  happenedOn(record) < epochDay(record[RECORD.atMs]);

interface Counted {
  tenantNo: number;
  /** Differs before and after a deletion. */
  userKey: string;
  record: HappenedRecord;
  isLate: boolean;
  /** The user was deleted earlier in the batch, so that stored events are those of another user. */
  isRenewed: boolean;
}

/** Finds the days on which late events of a batch made users active, in the order of the records. */
export class LateActiveDays {
  private readonly counted: Counted[] = [];
  /** How often each user was deleted in the batch. */
  private readonly deletions = new Map<string, number>();
  private found = new Map<HappenedRecord, NewActiveDay>();

  add(tenantNo: number, record: HappenedRecord): void {
    const late = isLate(record);
    if (!late && record[RECORD.activeBefore] === undefined) return;
    const userKey = userKeyOf(tenantNo, record[RECORD.userId]);
    const deletions = this.deletions.get(userKey) ?? 0;
    const isRenewed = deletions > 0;
    this.counted.push({ tenantNo, userKey: `${deletions}:${userKey}`, record, isLate: late, isRenewed });
  }

  forget(tenantNo: number, userId: string): void {
    const userKey = userKeyOf(tenantNo, userId);
    this.deletions.set(userKey, (this.deletions.get(userKey) ?? 0) + 1);
  }

  /** The day that a late event made active; `null` for none and for other records. Call `read` before. */
  dayOf(record: HappenedRecord): NewActiveDay | null {
    return this.found.get(record) ?? null;
  }

  /** Reads what is known about the days, before the batch's rows are written and deleted. Returns the days that are new. */
  async read(client: PoolClient): Promise<{ tenantNo: number; day: number }[]> {
    this.found = new Map();
    const late = this.counted.filter((each) => each.isLate);
    if (late.length === 0) return [];
    const active = await storedDays(client, late);
    const days: { tenantNo: number; day: number }[] = [];
    for (const { tenantNo, userKey, record, isLate } of this.counted) {
      const known = active.get(userKey);
      if (known === undefined) continue;
      const day = happenedOn(record);
      if (isLate && !known.has(day)) {
        this.found.set(record, newDay(day, known));
        days.push({ tenantNo, day });
      }
      known.add(day);
    }
    return days;
  }
}

const userKeyOf = (tenantNo: number, userId: string): string => `${tenantNo}:${userId}`;

/** The days with stored events of the users with late events, in the weeks and months of these. */
async function storedDays(client: PoolClient, late: readonly Counted[]): Promise<Map<string, Set<number>>> {
  const spans = new Map<string, UserDays>();
  const active = new Map<string, Set<number>>();
  for (const { tenantNo, userKey, record, isRenewed } of late) {
    active.set(userKey, new Set());
    if (isRenewed) continue;
    const day = happenedOn(record);
    const fromDay = Math.min(mondayOf(day), monthOf(day));
    const toDay = Math.max(mondayOf(day) + WEEK_DAYS, nextMonthOf(day)) - 1;
    const known = spans.get(userKey) ?? { tenantNo, userId: record[RECORD.userId], fromDay, toDay };
    known.fromDay = Math.min(known.fromDay, fromDay);
    known.toDay = Math.max(known.toDay, toDay);
    spans.set(userKey, known);
  }
  if (spans.size === 0) return active;
  const days = await activeDays(client, [...spans.values()]);
  for (const [at, userKey] of [...spans.keys()].entries()) active.set(userKey, new Set(days[at]));
  return active;
}

function newDay(day: number, active: ReadonlySet<number>): NewActiveDay {
  const has = (periodOf: (day: number) => number): boolean =>
    [...active].some((other) => periodOf(other) === periodOf(day));
  return { day, isNewInWeek: !has(mondayOf), isNewInMonth: !has(monthOf) };
}
