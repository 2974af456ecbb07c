import { decimalText, SUM_BOUND, toDecimal } from '../../domain/decimal.ts';
import type { ImportedUser } from '../../domain/imported-user.ts';
import { decimalOfMicros, toMicros, type Micros } from '../../domain/micros.ts';
import { dayOf, isDate } from '../../domain/periods.ts';
import { packedTotal } from '../../packed/packed-import.ts';
import { USER } from '../../packed/user-fields.ts';
import type { PackedTotal } from '../../packed/state.ts';
import { BadImport, type Draft } from './draft.ts';

/** Earlier days are beyond what the calendar rules can do, and later ones than tomorrow nobody has lived. */
const FIRST_DATE = '1970-01-01';

/**
 * Adds totals and their daily history. The peak, by which triggers count, is the highest total at the end of a day: those within
 * a day are not known. Throws BadImport.
 */
export function addTotals(draft: Draft, { metrics = {} }: ImportedUser): void {
  const totals: Record<number, PackedTotal> = {};
  for (const [key, { total, days = {} }] of Object.entries(metrics)) {
    const metric = draft.compiled.metrics.get(key);
    if (metric === undefined) {
      draft.missing.push(`metrics.${key}: there is no metric of this key`);
      continue;
    }
    const changes = changesOf(`metrics.${key}.days`, days, draft.today);
    const end = boundedMicros(`metrics.${key}.total`, total);
    let running = end - changes.reduce((sum, { change }) => sum + change, 0n);
    let peak = end;
    for (const { day, change } of changes) {
      running += change;
      if (running > peak) peak = running;
      draft.days.push({ metricNo: metric.no, day, change, total: running });
    }
    totals[metric.no] = totalOf(end, peak);
  }
  draft.state[USER.totals] = totals;
  draft.state[USER.activeDay] = draft.days.reduce((last, { day }) => Math.max(last, day), -1);
}

/** TOTAL, of sums in millionths. */
export function totalOf(micros: Micros, peak = micros): PackedTotal {
  return packedTotal(decimalOfMicros(micros), decimalOfMicros(peak).whole);
}

/** Changes by day, oldest first, without those of 0. Throws BadImport. */
export function changesOf(
  field: string,
  days: Readonly<Record<string, number>>,
  today: number,
): { day: number; change: Micros }[] {
  return Object.entries(days)
    .map(([date, change]) => {
      if (!isDate(date) || date < FIRST_DATE || dayOf(date) > today + 1)
        throw new BadImport(`${field}: '${date}' is no past day as YYYY-MM-DD.`);
      return { day: dayOf(date), change: boundedMicros(`${field}.${date}`, change) };
    })
    .filter(({ change }) => change !== 0n)
    .toSorted((a, b) => a.day - b.day);
}

function boundedMicros(field: string, value: number): Micros {
  if (Math.abs(value) >= SUM_BOUND) throw new BadImport(`${field} must be between -${SUM_BOUND} and ${SUM_BOUND}.`);
  return toMicros(decimalText(toDecimal(value)));
}
