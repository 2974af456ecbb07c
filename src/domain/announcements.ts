import { DAY_MS, dayOf } from './periods.ts';
import { runOf, type Run, type RunRule } from './runs.ts';

/** When starts and ends are announced: 10:00 UTC on the day before the first day, 13:00 UTC on the day after the last. */

const HOUR_MS = 3_600_000;
const STARTS_AT_MS = 10 * HOUR_MS;
const ENDED_AT_MS = 13 * HOUR_MS;

/** Epoch ms at which a start on a day (epoch day) is announced. */
export const startAnnouncedMs = (firstDay: number): number => (firstDay - 1) * DAY_MS + STARTS_AT_MS;

/** Epoch ms at which an end with a day (epoch day) is announced. */
export const endAnnouncedMs = (lastDay: number): number => (lastDay + 1) * DAY_MS + ENDED_AT_MS;

/** The first run whose start is announced after a time (epoch ms); null: there is none. */
export function startAnnouncedAfter(rule: RunRule, afterMs: number): Run | null {
  const day = Math.floor((afterMs - STARTS_AT_MS) / DAY_MS) + 2;
  const first = firstRun(rule);
  if (first === null || first.startDay >= day) return first;
  const run = runOf(rule, day);
  if (run === null || run.startDay === day) return run;
  return run.endDay === null ? null : runOf(rule, run.endDay + 1);
}

/** The first run whose end is announced after a time (epoch ms); null: there is none, or it has no end. */
export function endAnnouncedAfter(rule: RunRule, afterMs: number): (Run & { endDay: number }) | null {
  const day = Math.floor((afterMs - ENDED_AT_MS) / DAY_MS);
  const first = firstRun(rule);
  const run = first !== null && first.startDay >= day ? first : runOf(rule, day);
  return run === null || run.endDay === null ? null : { ...run, endDay: run.endDay };
}

const firstRun = (rule: RunRule): Run | null => runOf(rule, dayOf(rule.start));
