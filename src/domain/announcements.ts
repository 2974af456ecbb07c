import { DAY_MS, dayOf } from './periods.ts';
import { runOf, type Run, type RunRule } from './runs.ts';

/** Starts are announced at 10:00 UTC on the day before, ends at 13:00 UTC on the day after. */

const HOUR_MS = 3_600_000;
const STARTS_AT_MS = 10 * HOUR_MS;
const ENDED_AT_MS = 13 * HOUR_MS;

/** When the start of a run is announced (epoch ms). `firstDay`: epoch day. */
export const startAnnouncedMs = (firstDay: number): number => (firstDay - 1) * DAY_MS + STARTS_AT_MS;

/** When the end of a run is announced (epoch ms). `lastDay`: epoch day. */
export const endAnnouncedMs = (lastDay: number): number => (lastDay + 1) * DAY_MS + ENDED_AT_MS;

/** The first run whose start is announced after a time (epoch ms), or `null`. */
export function startAnnouncedAfter(rule: RunRule, afterMs: number): Run | null {
  const day = Math.floor((afterMs - STARTS_AT_MS) / DAY_MS) + 2;
  const first = firstRun(rule);
  if (first === null || first.startDay >= day) return first;
  const run = runOf(rule, day);
  if (run === null || run.startDay === day) return run;
  return run.endDay === null ? null : runOf(rule, run.endDay + 1);
}

/** The first run whose end is announced after a time (epoch ms); `null` if there is none or it has no end. */
export function endAnnouncedAfter(rule: RunRule, afterMs: number): (Run & { endDay: number }) | null {
  const day = Math.floor((afterMs - ENDED_AT_MS) / DAY_MS);
  const first = firstRun(rule);
  const run = first !== null && first.startDay >= day ? first : runOf(rule, day);
  return run === null || run.endDay === null ? null : { ...run, endDay: run.endDay };
}

const firstRun = (rule: RunRule): Run | null => runOf(rule, dayOf(rule.start));
