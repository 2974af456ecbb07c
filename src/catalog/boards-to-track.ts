import type { Catalog, Leaderboard } from '../domain/catalog.ts';
import { dayOf, epochDay } from '../domain/periods.ts';
import { finalMs, playedRule, runOf, type Run } from '../domain/runs.ts';
import type { Change } from './draft.ts';

/** The oldest run of a leaderboard that is not final at a time; `null` if there is none. */
export function firstOpenRun(board: Leaderboard, nowMs: number): Run | null {
  const rule = playedRule(board);
  const run = runOf(rule, Math.max(epochDay(nowMs) - 1, dayOf(rule.start)));
  if (run === null || run.endDay === null || finalMs(run.endDay) > nowMs) return run;
  return runOf(rule, run.endDay + 1);
}

/** Leaderboards that an edit activated, or whose scoring it changed while they were active. */
export function switchedOn(changes: readonly Change[]): Leaderboard[] {
  return changes.flatMap(({ kind, before, after }) => {
    if (kind !== 'leaderboard' || after === null) return [];
    const [was, is] = [before as Leaderboard | null, after as Leaderboard];
    if (is.status === 'inactive') return [];
    return was === null || was.status === 'inactive' || was.no !== is.no ? [is] : [];
  });
}

/** Leaderboards whose scoring changes with these settings, because the streak frequency changed. */
export const rescored = ({ leaderboards }: Catalog, streakChanges: readonly string[]): Leaderboard[] =>
  streakChanges.includes('frequency')
    ? leaderboards.filter(({ rankBy, status }) => rankBy === 'streak' && status !== 'inactive')
    : [];

/** The first run that scheduled work tracks, for leaderboards activated at a time. */
export const boardsToTrack = (
  boards: readonly Leaderboard[],
  nowMs: number,
): { no: number; nextRunDay: number | null; nextSnapshotDay: number }[] =>
  boards.map((board) => ({
    no: board.no,
    nextRunDay: firstOpenRun(board, nowMs)?.startDay ?? null,
    nextSnapshotDay: Math.max(epochDay(nowMs), dayOf(board.start)),
  }));

/** Whether a leaderboard's first day has begun in some time zone, so that relevant history may exist. */
export const hasBegun = ({ start }: Leaderboard, nowMs: number): boolean => dayOf(start) <= epochDay(nowMs) + 1;
