import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import type { DayCountsRow } from '../../postgres/history/activity.ts';
import { activeDayOf } from '../analytics/active-days.ts';
import { epochDay } from '../../domain/periods.ts';

/** Counts records by tenant and UTC day, including those of users deleted later. About 40 ns per record. */
export class DayTally {
  private readonly byDay = new Map<string, DayCountsRow>();
  private last: DayCountsRow | undefined;

  /** The counts, with one more active user on each of some days of late events. */
  rows(lateDays: readonly { tenantNo: number; day: number }[]): DayCountsRow[] {
    const rows = new Map([...this.byDay].map(([key, row]) => [key, { ...row }]));
    for (const { tenantNo, day } of lateDays) {
      const key = `${tenantNo}:${day}`;
      const row = rows.get(key) ?? noCounts(tenantNo, day);
      row.activeUsers += 1;
      rows.set(key, row);
    }
    return [...rows.values()].filter(
      ({ events, activeUsers, newUsers, completions }) => events + activeUsers + newUsers + completions > 0,
    );
  }

  /** Counts a record whose fields were checked. */
  add(tenantNo: number, record: HappenedRecord): void {
    const row = this.rowOf(tenantNo, epochDay(record[RECORD.atMs]));
    if (record[kindField] === KIND.event) row.events += 1;
    if (record[RECORD.isNew] !== undefined) row.newUsers += 1;
    row.completions += record[RECORD.completed]?.length ?? 0;
    const active = activeDayOf(record);
    if (active !== null) this.rowOf(tenantNo, active.day).activeUsers += 1;
  }

  private rowOf(tenantNo: number, day: number): DayCountsRow {
    if (this.last?.day === day && this.last.tenantNo === tenantNo) return this.last;
    const key = `${tenantNo}:${day}`;
    let row = this.byDay.get(key);
    if (row === undefined) this.byDay.set(key, (row = noCounts(tenantNo, day)));
    this.last = row;
    return row;
  }
}

const noCounts = (tenantNo: number, day: number): DayCountsRow => ({
  tenantNo,
  day,
  events: 0,
  activeUsers: 0,
  newUsers: 0,
  completions: 0,
});
