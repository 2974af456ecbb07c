import type { EventSummaryEntry } from '../../domain/event-summary.ts';
import { microsNumber, toMicros } from '../../domain/micros.ts';
import { dateOf, type Days } from '../../domain/periods.ts';
import type { DayRows } from '../../postgres/history/days.ts';

interface Changes extends Pick<DayRows, 'later' | 'days' | 'changes'> {
  /** The total as of the same moment, as decimal text. */
  current: string;
}

/** One entry for each period, from the changes of the days: exact. */
export function summaryEntries(
  periods: readonly Days[],
  { current, later, days, changes }: Changes,
): EventSummaryEntry[] {
  const entries: EventSummaryEntry[] = [];
  let total = toMicros(current) - toMicros(later);
  let at = days.length - 1;
  for (const { fromDay } of periods.toReversed()) {
    let change = 0n;
    for (; at >= 0 && (days[at] as number) >= fromDay; at--) change += toMicros(changes[at] as string);
    entries.push({ date: dateOf(fromDay), total: microsNumber(total), change: microsNumber(change) });
    total -= change;
  }
  return entries.reverse();
}
