import { compileBoard, secondaryAttributeOf } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { floorOf, foldOf } from '../../domain/leaderboard.ts';
import { DAY_MS, dayOf, epochDay } from '../../domain/periods.ts';
import { finalMs, playedRule, runOf, runsFrom } from '../../domain/runs.ts';
import { zoneOffset } from '../../domain/zone.ts';
import type { Counted, CountedTimes } from '../../postgres/boards/past-scores.ts';

/** The part of the history that counts on a board. */
export interface BoardHistory {
  /** `null` for a streak board, which has no history. */
  counted: Counted | null;
  /** First days of all runs that have begun in any zone, ascending. */
  runDays: number[];
  /** The board's last day; `null` if it has none. */
  lastDay: number | null;
  /** Seconds of the local day; `null` for the whole day. */
  window: { from: number; to: number } | null;
}

/** The part of the history up to now that counts on a board. */
export function boardHistory(compiled: CompiledCatalog, board: Leaderboard, nowMs: number): BoardHistory {
  const rule = playedRule(board);
  const { from, to } = compileBoard(compiled, board, { metric: null, days: [] });
  return {
    counted: countedBy(compiled, board),
    runDays: Array.from(runsFrom(rule, dayOf(rule.start), epochDay(nowMs) + 1), ({ startDay }) => startDay),
    lastDay: rule.end === null ? null : dayOf(rule.end),
    window: from === undefined && to === undefined ? null : { from: from ?? 0, to: to ?? DAY_MS / 1000 },
  };
}

function countedBy(compiled: CompiledCatalog, board: Leaderboard): Counted | null {
  if (board.rankBy === 'metric')
    return {
      metricNo: compiled.metricsById.get(board.metricId ?? '')?.no ?? 0,
      negated: board.order === 'ascending',
      fold: foldOf(board),
      always: floorOf(board) !== 0,
      timed: board.ties === 'first',
      secondary: secondaryAttributeOf(compiled, board),
    };
  if (board.rankBy === 'points')
    return { systemNo: compiled.pointsSystemsById.get(board.pointsSystemId ?? '')?.no ?? 0 };
  return null;
}

/** The runs of a board before a given one (`null`: all), with the times at which they became final. */
export function pastRuns(
  board: Leaderboard,
  { runDays }: BoardHistory,
  openRunDay: number | null,
): { runDay: number; lastDay: number; finalMs: number }[] {
  const rule = playedRule(board);
  return runDays
    .filter((runDay) => openRunDay === null || runDay < openRunDay)
    .flatMap((runDay) => {
      const lastDay = runOf(rule, runDay)?.endDay ?? null;
      return lastDay === null ? [] : [{ runDay, lastDay, finalMs: finalMs(lastDay) }];
    });
}

/** Offsets of the users' current zones from a day on. Earlier zones are unknown. */
export function offsetsOf(
  users: readonly { userId: string; tz: string | null }[],
  { fromDay, nowMs }: { fromDay: number; nowMs: number },
): CountedTimes['offsets'] {
  return users.flatMap(({ userId, tz }) => {
    const offsets: CountedTimes['offsets'] = [];
    const endMs = nowMs + DAY_MS;
    for (let sinceMs = (fromDay - 1) * DAY_MS; sinceMs < endMs;) {
      const offset = tz === null ? null : zoneOffset(tz, sinceMs);
      const untilMs = Math.max(sinceMs + 1, Math.min(offset?.untilMs ?? endMs, endMs));
      offsets.push({ userId, sinceMs, untilMs, seconds: offset?.offsetSeconds ?? 0 });
      sinceMs = untilMs;
    }
    return offsets;
  });
}
