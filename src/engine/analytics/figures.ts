import type { Redis } from 'ioredis';
import { COUNTED, medianStep, mondayOf, secondsOf, type Counted } from '../../domain/analytics.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type {
  AnalyticsAchievement,
  AnalyticsLeaderboards,
  AnalyticsStreaks,
} from '../../domain/analytics-responses.ts';
import type { Achievement, Leaderboard } from '../../domain/catalog.ts';
import { microsNumber, decimalNumber, ZERO } from '../../domain/decimal.ts';
import { dateOf, type Days } from '../../domain/periods.ts';
import { playedRule, runShownOn } from '../../domain/runs.ts';
import { AppError } from '../../errors.ts';
import type { User } from '../../rules/user.ts';
import type { AnalyticsSum } from '../../postgres/analytics.ts';
import { currentQuest } from '../responses/achievements.ts';
import { groupsOfRun } from '../leaderboards/runs.ts';
import { LiveStandings } from '../leaderboards/live-standings.ts';
import type { BalanceChanges } from './balance-figures.ts';
import { daysOf, Tallies, type ComparedDays } from './analytics-range.ts';
import { groupedBy } from '../../grouped.ts';
import { picked } from '../../picked.ts';

const SHARES = 10;

export const shown = (achievement: Achievement) => picked(achievement, ['id', 'key', 'name', 'trigger']);

export const inRange = ({ fromDay, toDay }: Days): Days => ({ fromDay, toDay });

/** The range, extended to the Monday of its first week. */
export const inWeeks = ({ fromDay, toDay }: Days): Days => ({ fromDay: mondayOf(fromDay), toDay });

export const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

export function talliesBy(sums: readonly AnalyticsSum[], by: 'day' | 'subject' | 'part'): Tallies {
  const tallies = new Tallies();
  for (const sum of sums) tallies.add(sum[by], sum);
  return tallies;
}

export const bySubject = (sums: readonly AnalyticsSum[]): Map<number, AnalyticsSum[]> =>
  groupedBy(sums, ({ subject }) => subject);

export const eventsOn = (sums: readonly AnalyticsSum[], day: number): number =>
  sumOf(sums.map((sum) => (sum.day === day ? sum.events : 0)));

/** The first days of the weeks or months that a range touches. */
export const periodsIn = ({ fromDay, toDay }: Days, firstDayOf: (day: number) => number): number[] => [
  ...new Set(Array.from({ length: toDay - fromDay + 1 }, (_, index) => firstDayOf(fromDay + index))),
];

export function movedPoints(sums: readonly AnalyticsSum[]): { awarded: number; taken: number } {
  const of = (kind: Counted): number =>
    microsNumber(sums.reduce((sum, row) => (row.kind === kind ? sum + row.value : sum), 0n));
  return { awarded: of(COUNTED.awarded), taken: of(COUNTED.taken) };
}

export function bothMoved(
  now: readonly AnalyticsSum[],
  before: readonly AnalyticsSum[],
): { awarded: number; awardedBefore: number; taken: number; takenBefore: number } {
  const [moved, movedBefore] = [movedPoints(now), movedPoints(before)];
  return { ...moved, awardedBefore: movedBefore.awarded, takenBefore: movedBefore.taken };
}

export const bothSpent = (now: BalanceChanges, before: BalanceChanges) => ({
  spent: now.spent,
  spentBefore: before.spent,
  refunded: now.refunded,
  refundedBefore: before.refunded,
  expired: now.expired,
  expiredBefore: before.expired,
});

export function medianSeconds(durations: readonly AnalyticsSum[]): number | null {
  const step = medianStep(talliesBy(durations, 'part').eventCounts());
  return step === null ? null : secondsOf(step);
}

/** The shortest streak of each range of the distribution. */
const LENGTHS = [0, 1, 2, 3, 4, 7, 14, 30, 60, 100, 365];

export const lengthRanges = (lengths: readonly number[]): AnalyticsStreaks['lengths'] =>
  LENGTHS.map((from, index) => {
    const to = (LENGTHS[index + 1] ?? Infinity) - 1;
    const users = lengths.filter((length) => length >= from && length <= to).length;
    return { from, to: to === Infinity ? null : to, users };
  });

/**
 * Sampled users without the achievement (of a repeating one: in the current period), by tenths of the goal reached; `null` if
 * the achievement has no numeric goal.
 */
export function progress(
  compiled: CompiledCatalog,
  achievement: Achievement,
  states: readonly User[],
  nowMs: number,
): AnalyticsAchievement['progress'] {
  const { metricsById, catalog } = compiled;
  const { trigger, no, metricId, metricValue, streakLength, eventAttributes } = achievement;
  const metricNo = metricsById.get(metricId ?? '')?.no ?? 0;
  const nowOf: Partial<Record<Achievement['trigger'], (state: User) => number>> = {
    metric: (state) =>
      decimalNumber((eventAttributes.length > 0 ? state.counts.get(no) : state.totals.get(metricNo)) ?? ZERO),
    streak: (state) => state.streaks[catalog.streaks.frequency].length,
  };
  const [now, goal] = [nowOf[trigger], trigger === 'metric' ? metricValue : streakLength];
  if (now === undefined || goal === null) return null;
  const users = Array.from({ length: SHARES }, () => 0);
  for (const state of states) {
    const { period } = currentQuest(compiled, achievement, state, nowMs);
    if (period?.completed ?? state.completions.has(no)) continue;
    const tenth = Math.floor(((period?.progress ?? now(state)) / goal) * SHARES);
    users[Math.min(SHARES - 1, Math.max(0, tenth))]! += 1;
  }
  return users.map((count, index) => ({ from: index / SHARES, to: (index + 1) / SHARES, users: count }));
}

/** How the places on a leaderboard changed. */
export function placesByDay(days: ComparedDays, sums: readonly AnalyticsSum[]) {
  const ofKind = (wanted: Counted): Tallies =>
    talliesBy(
      sums.filter(({ kind }) => kind === wanted),
      'day',
    );
  const [changed, joined] = [ofKind(COUNTED.placesChanged), ofKind(COUNTED.placesJoined)];
  const rows = daysOf(days, (day, before) => ({
    changed: changed.events(day),
    changedBefore: changed.events(before),
    distance: microsNumber(changed.value(day)),
    distanceBefore: microsNumber(changed.value(before)),
    joined: joined.events(day),
    joinedBefore: joined.events(before),
  }));
  return {
    changed: sumOf(rows.map((row) => row.changed)),
    changedBefore: sumOf(rows.map((row) => row.changedBefore)),
    days: rows,
  };
}

/** The scores of the first, of the last, and at each tenth of the participants between. */
async function scoresAt(
  standings: LiveStandings,
  participants: number,
): Promise<{ percent: number; rank: number; value: number }[]> {
  if (participants === 0) return [];
  const tenths = Array.from({ length: SHARES + 1 }, (_, tenth) => tenth);
  return Promise.all(
    tenths.map(async (tenth) => {
      const place = Math.min(participants - 1, Math.floor((participants * tenth) / SHARES));
      const [member] = await standings.page(place, 1);
      return { percent: tenth * SHARES, rank: place + 1, value: member?.score ?? 0 };
    }),
  );
}

/** The run of a leaderboard on a day: its participants, and the scores at tenths of them. */
export async function boardFigures(
  redis: Redis,
  tenantNo: number,
  board: Leaderboard,
  today: number,
): Promise<Omit<AnalyticsLeaderboards['leaderboards'][number], keyof ReturnType<typeof placesByDay>>> {
  const { startDay, endDay } = runShownOn(playedRule(board), today);
  const run = { tenantNo, boardNo: board.no, runDay: startDay };
  const groups = await groupsOfRun(redis, board, run);
  const standings = groups.map((group) => new LiveStandings(redis, { ...run, group }, board));
  const participants = sumOf(await Promise.all(standings.map((each) => each.participants())));
  // Places of different groups cannot be compared.
  const isWhole = board.breakdownAttributes.length === 0;
  return {
    id: board.id,
    key: board.key,
    name: board.name,
    rankBy: board.rankBy,
    start: dateOf(startDay),
    end: endDay === null ? null : dateOf(endDay),
    groups: isWhole ? 0 : groups.length,
    participants,
    scores: isWhole ? await scoresAt(standings[0]!, participants) : [],
  };
}

/** 404 for a resource that the tenant does not have. */
export function found<T>(resource: T | undefined, kind: string): T {
  if (resource === undefined) throw new AppError('not_found', `Unknown ${kind}: the tenant has none with this ID.`);
  return resource;
}
