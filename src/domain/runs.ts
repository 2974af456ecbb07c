import { dateOf, DAY_MS, dayOf, epochDay } from './periods.ts';

export interface RunRule {
  /** First day of the first run, `YYYY-MM-DD`. */
  start: string;
  end: string | null;
  runUnit: 'day' | 'month' | 'year' | null;
  runInterval: number | null;
}

/** A run of a tenant's leaderboard. */
export interface BoardRun {
  tenantNo: number;
  boardNo: number;
  /** First day of the run (epoch day). */
  runDay: number;
}

/** First and last day of a run (epoch days). `endDay` is `null` for a perpetual leaderboard without an end. */
export interface Run {
  startDay: number;
  endDay: number | null;
}

/** The day `months` later. Keeps the day of the month, or uses the last day of a shorter month. */
function addMonths(day: number, months: number): number {
  const date = new Date(day * DAY_MS);
  const month = date.getUTCMonth() + months;
  const lastOfMonth = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  return Date.UTC(date.getUTCFullYear(), month, Math.min(date.getUTCDate(), lastOfMonth)) / DAY_MS;
}

/** First day of the nth run (from 0), counted from the leaderboard's start so that a clipped day of the month recovers. */
function runStart(rule: RunRule, n: number): number {
  const first = dayOf(rule.start);
  const steps = n * (rule.runInterval ?? 1);
  if (rule.runUnit === 'day') return first + steps;
  return addMonths(first, rule.runUnit === 'year' ? steps * 12 : steps);
}

/** The run that contains a local day; `null` before the start and after the end. */
export function runOf(rule: RunRule, day: number): Run | null {
  const first = dayOf(rule.start);
  const last = rule.end === null ? null : dayOf(rule.end);
  if (day < first || (last !== null && day > last)) return null;
  if (rule.runUnit === null) return { startDay: first, endDay: last };
  const unitDays = { day: 1, month: 28, year: 365 }[rule.runUnit];
  let n = Math.floor((day - first) / (unitDays * (rule.runInterval ?? 1)));
  while (runStart(rule, n) > day) n -= 1;
  const endDay = runStart(rule, n + 1) - 1;
  return { startDay: runStart(rule, n), endDay: last === null ? endDay : Math.min(endDay, last) };
}

/** The runs from the one that contains a local day (none if there is none) to the last that begins by another. */
export function* runsFrom(rule: RunRule, day: number, newest: number): Generator<Run> {
  for (let run = runOf(rule, day); run !== null && run.startDay <= newest;) {
    yield run;
    run = run.endDay === null ? null : runOf(rule, run.endDay + 1);
  }
}

/** The run that begins on a day, or `null`. */
export function runFrom(rule: RunRule, day: number): Run | null {
  const run = runOf(rule, day);
  return run?.startDay === day ? run : null;
}

/** The run to display on a day: the current one, the first one before the start, the last one after the end. */
export function runShownOn(rule: RunRule, day: number): Run {
  const first = dayOf(rule.start);
  const last = rule.end === null ? day : Math.max(dayOf(rule.end), first);
  return runOf(rule, Math.min(Math.max(day, first), last)) ?? { startDay: first, endDay: last };
}

/** A leaderboard's status on a UTC day; `null` if it is switched off. */
export function boardStatus(
  board: { start: string; end: string | null; status: 'inactive' | 'scheduled' | 'active' | 'finished' },
  utcDay: number,
): 'scheduled' | 'active' | 'finished' | null {
  if (board.status === 'inactive') return null;
  if (board.status === 'finished' || (board.end !== null && utcDay > dayOf(board.end))) return 'finished';
  return utcDay < dayOf(board.start) ? 'scheduled' : 'active';
}

/** The rule with its actual end: a finished leaderboard ends with the last local date anywhere at that moment. */
export function playedRule(board: RunRule & { status: string; finished?: number | undefined }): RunRule {
  if (board.status !== 'finished' || board.finished === undefined) return board;
  const lastDay = epochDay(board.finished) + 1;
  return board.end !== null && dayOf(board.end) <= lastDay ? board : { ...board, end: dateOf(lastDay) };
}

/** When a run becomes final: 12:00 UTC on the day after its last day, when that day has ended in UTC-12. */
export const finalMs = (lastDay: number): number => (lastDay + 1) * DAY_MS + DAY_MS / 2;
