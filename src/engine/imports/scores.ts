import type { Leaderboard } from '../../domain/catalog.ts';
import {
  clamped,
  decimalOfMicros,
  decimalText,
  type Micros,
  SUM_BOUND,
  toDecimal,
  toMicros,
} from '../../domain/decimal.ts';
import { floorOf, foldOf, turned } from '../../domain/leaderboard.ts';
import type { ImportedUser } from '../../domain/imported-user.ts';
import { DAY_MS, dayOf, isDate } from '../../domain/periods.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { groupOf } from '../../rules/leaderboards.ts';
import type { Total } from '../../rules/user.ts';
import { BadImport, type Draft } from './draft.ts';

/** The calendar rules do not cover earlier days, and no zone has reached a day after tomorrow. */
const FIRST_DATE = '1970-01-01';

/** Adds totals and daily history. The peak is the highest total at the end of a day. Throws BadImport. */
export function addTotals(draft: Draft, { metrics = {} }: ImportedUser): void {
  const { state } = draft;
  for (const [key, { total, days = {} }] of Object.entries(metrics)) {
    const metric = draft.compiled.metrics.get(key);
    if (metric === undefined) {
      draft.skipped.push({ field: `metrics.${key}`, reason: 'no metric has this key', days: Object.keys(days).length });
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
    state.totals.set(metric.no, totalOf(end, peak));
  }
  for (const { day } of draft.days) state.activeDay = Math.max(state.activeDay ?? day, day);
}

/**
 * Raises the peaks of metrics whose triggers paid more multiples than the totals at the ends of days reached: events
 * first raised the total within a day, then lowered it. Multiples since a trigger's first known award count on from the
 * highest total of the days before. A peak within a day that no trigger paid for stays unknown.
 */
export function raisePeaks({ compiled, state, days, awards }: Draft): void {
  for (const { no, type, metricId, metricThreshold, eventAttributes } of compiled.catalog.triggers) {
    const metricNo = compiled.metricsById.get(metricId ?? '')?.no ?? 0;
    const total = state.totals.get(metricNo);
    const paid = awards.filter(({ triggerNo }) => triggerNo === no);
    if (type !== 'metric' || metricThreshold === null || eventAttributes.length > 0) continue;
    if (total === undefined || paid.length === 0) continue;
    const firstDay = paid.reduce((first, { day }) => Math.min(first, day), Infinity);
    const ofMetric = days.filter((day) => day.metricNo === metricNo);
    const begin = ofMetric[0] === undefined ? 0n : ofMetric[0].total - ofMetric[0].change;
    const highest = ofMetric.reduce((high, { day, total: at }) => (day < firstDay && at > high ? at : high), begin);
    const reached = Math.floor(Math.max(0, decimalOfMicros(highest).whole) / metricThreshold);
    const multiples = paid.reduce((sum, award) => sum + award.multiples, 0);
    const peak = (reached + multiples) * metricThreshold;
    if (peak > (total.peak ?? Math.max(0, total.whole))) total.peak = peak;
  }
}

/** A total from sums in millionths. */
function totalOf(micros: Micros, peak: Micros): Total {
  const total = decimalOfMicros(micros);
  const { whole } = decimalOfMicros(peak);
  return { ...total, peak: whole > total.whole ? whole : null };
}

/** Changes by day, oldest first, without zeros. Throws BadImport. */
export function changesOf(
  field: string,
  days: Readonly<Record<string, number>>,
  today: number,
): { day: number; change: Micros }[] {
  return Object.entries(days)
    .map(([date, change]) => {
      if (!isDate(date) || date < FIRST_DATE || dayOf(date) > today + 1)
        throw new BadImport(`${field}: '${date}' is not a past day in the form YYYY-MM-DD.`);
      return { day: dayOf(date), change: boundedMicros(`${field}.${date}`, change) };
    })
    .filter(({ change }) => change !== 0n)
    .toSorted((a, b) => a.day - b.day);
}

function boundedMicros(field: string, value: number): Micros {
  if (Math.abs(value) >= SUM_BOUND) throw new BadImport(`${field} must be between -${SUM_BOUND} and ${SUM_BOUND}.`);
  return toMicros(decimalText(toDecimal(value)));
}

const MILLION = 1_000_000n;

/**
 * Adds scores to runs that are not final, from the daily history, as when a board with a past start is activated. Final
 * runs stay unchanged. Boards with times of day are skipped, since days have no times. A score goes into the group
 * that the import names, else into that of the user's attributes.
 */
export function addScores(draft: Draft, { leaderboards: shown = {} }: ImportedUser): void {
  const { compiled, state, skipped, nowMs } = draft;
  for (const board of compiled.catalog.leaderboards.toSorted((a, b) => a.no - b.no)) {
    if (board.status !== 'active' && board.status !== 'finished') continue;
    const scores = [...scoresOn(draft, board)]
      .filter(([runDay, { score }]) => (score !== 0n || floorOf(board) !== 0) && !isFinal(board, runDay, nowMs))
      .toSorted(([a], [b]) => b - a);
    if (scores.length === 0) continue;
    const needed =
      board.startTime !== null || board.endTime !== null
        ? 'its runs start or end at a time of day'
        : foldOf(board) !== null && 'its scores are values of single events';
    if (needed !== false) {
      const reason = `${needed}, and the history has days only`;
      skipped.push({ field: `leaderboards.${board.key}`, reason, days: 0 });
      continue;
    }
    const group = importedGroup(draft, board, shown[board.key]?.group);
    for (const [runDay, { score, lastDay }] of scores) {
      const run = { board: board.no, runDay };
      const earned = { ...run, ...clamped(decimalOfMicros(score)) };
      state.scores.push({ ...earned, group });
      if (board.teamAttributeId !== null) state.stays.push({ ...earned, sinceMs: 0, team: teamOf(draft, board) });
      // The time of day when it was reached is unknown.
      if (board.ties === 'first') state.scoreTimes.push({ ...run, reached: 1_000 * DAY_MS * lastDay });
    }
  }
}

/** The user's present team; '' without one. The history does not say which teams the user was in. */
const teamOf = ({ compiled, state }: Draft, { teamAttributeId }: Leaderboard): string =>
  state.attributes.get(compiled.attributesById.get(teamAttributeId ?? '')?.no ?? 0) ?? '';

interface ImportedScore {
  score: Micros;
  /** The last day (epoch day) that changed it. */
  lastDay: number;
}

/** The user's scores from history, by first day (epoch day) of the run. */
function scoresOn({ compiled, days, awards, state, today }: Draft, board: Leaderboard): Map<number, ImportedScore> {
  const rule = playedRule(board);
  const scores = new Map<number, ImportedScore>();
  const add = (day: number, change: Micros): void => {
    const run = runOf(rule, day);
    if (run === null) return;
    const { score = 0n, lastDay = day } = scores.get(run.startDay) ?? {};
    scores.set(run.startDay, { score: score + change, lastDay: Math.max(lastDay, day) });
  };
  if (board.rankBy === 'metric') {
    const metric = compiled.metricsById.get(board.metricId ?? '');
    const sign = BigInt(turned(board, 1));
    for (const { metricNo, day, change } of days) if (metricNo === metric?.no) add(day, sign * change);
  } else if (board.rankBy === 'points') {
    const system = compiled.pointsSystemsById.get(board.pointsSystemId ?? '');
    for (const { systemNo, day, awarded } of awards) if (systemNo === system?.no) add(day, BigInt(awarded) * MILLION);
  } else {
    add(today, BigInt(state.streaks[compiled.catalog.streaks.frequency].length) * MILLION);
  }
  return scores;
}

function isFinal(board: Leaderboard, runDay: number, nowMs: number): boolean {
  const endDay = runOf(playedRule(board), runDay)?.endDay ?? null;
  return endDay !== null && finalMs(endDay) <= nowMs;
}

/** The user's group on a board, where `shown` has values by key that go before the user's own; '' without a group. */
function importedGroup({ compiled, state }: Draft, board: Leaderboard, shown: Record<string, string> = {}): string {
  const attributes = new Map(state.attributes);
  const groups = board.breakdownAttributes.map((id) => {
    const { no = 0, key = '' } = compiled.attributesById.get(id) ?? {};
    const value = shown[key];
    if (value !== undefined) attributes.set(no, value);
    return no;
  });
  return groupOf({ groups }, { attributes }) ?? '';
}
