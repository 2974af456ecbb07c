import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Finding } from '../../domain/administration/advice.ts';
import type { AnalyticsMetrics } from '../../domain/analytics-responses.ts';
import type { Reward } from '../../domain/catalog.ts';
import { DAY_MS, dateOf, dayOf, epochDay } from '../../domain/periods.ts';
import { boardStatus } from '../../domain/runs.ts';
import { counted } from '../../domain/words.ts';
import { claimCounts, countWaitingClaims, nthNewestClaims } from '../../postgres/rewards.ts';
import { names, placeOf } from './finding.ts';

/** Findings that compare two weeks, or look a week ahead: unusual numbers of events, rewards and leaderboards that run out. */

const WEEK_DAYS = 7;
/** Metrics are not compared unless one of the weeks has this many events: small numbers vary by chance. */
const LEAST_EVENTS = 100;
const FELL_TO = 0.5;
const ROSE_TO = 3;
/** Claims that give the rate at which a reward is claimed: no fewer, no more. */
const LEAST_CLAIMS = 5;
const MOST_CLAIMS = 100;
/** A claim that nobody has delivered for so long waits. Of the newest claims so many are looked at. */
const WAITING_AFTER_MS = 3 * DAY_MS;
const MOST_WAITING = 1_000;
/** Rewards whose rate is read. */
const MOST_REWARDS = 100;

/** Active rewards of which nothing is left, and those of which nothing will be left in a week. */
export interface Stocks {
  soldOut: readonly Reward[];
  runningOut: readonly Reward[];
}

/**
 * At the rate of its last claims, when will a reward be sold out? Reads at most `MOST_CLAIMS` claims of each of `MOST_REWARDS`
 * rewards.
 */
export async function stocksOf(
  pool: Pool,
  { catalog: { tenantNo, rewards } }: CompiledCatalog,
  nowMs: number,
): Promise<Stocks> {
  const limited = rewards.filter(({ status, stock }) => status === 'active' && stock !== null);
  if (limited.length === 0) return { soldOut: [], runningOut: [] };
  const counts = await claimCounts(
    pool,
    tenantNo,
    limited.map(({ no }) => no),
    null,
  );
  const left = ({ no, stock }: Reward): number => stock! - (counts.get(no)?.claimed ?? 0);
  const claimed = limited.filter((reward) => left(reward) > 0 && counts.has(reward.no)).slice(0, MOST_REWARDS);
  const sample = (reward: Reward): number => Math.min(Math.max(left(reward), LEAST_CLAIMS), MOST_CLAIMS);
  const since = await nthNewestClaims(
    pool,
    tenantNo,
    claimed.map((reward) => ({ rewardNo: reward.no, nth: sample(reward) })),
  );
  const lastsMs = (reward: Reward): number => {
    const fromMs = since.get(reward.no);
    return fromMs === undefined ? Infinity : ((nowMs - fromMs) * left(reward)) / sample(reward);
  };
  return {
    soldOut: limited.filter((reward) => left(reward) <= 0),
    runningOut: claimed.filter((reward) => lastsMs(reward) <= WEEK_DAYS * DAY_MS),
  };
}

export const rewardsRunningOut = ({ runningOut }: Stocks): Finding | null =>
  runningOut.length === 0
    ? null
    : {
        text: `If users go on claiming at this rate, nothing will be left of ${names(runningOut)} within a week.`,
        advice: 'Raise the stock in time, or prepare another reward.',
        screen: placeOf('/rewards', runningOut),
      };

/** The claims that wait to be delivered; 0 without rewards. */
export const waitingClaims = (pool: Pool, { catalog: { tenantNo, rewards } }: CompiledCatalog, nowMs: number) =>
  rewards.length === 0
    ? 0
    : countWaitingClaims(pool, tenantNo, { beforeMs: nowMs - WAITING_AFTER_MS, most: MOST_WAITING });

export const claimsWaiting = (waiting: number): Finding | null =>
  waiting === 0
    ? null
    : {
        text: `${counted(waiting, 'claim')} of rewards ${waiting === 1 ? 'has' : 'have'} waited for more than 3 days.`,
        advice: 'Deliver and fulfil them, or cancel them, which gives the points back. Your server can do both, too.',
        screen: '/rewards',
      };

/** The range of the last 7 whole days, by UTC. */
export function lastWeek(nowMs: number): { from: string; to: string } {
  const today = epochDay(nowMs);
  return { from: dateOf(today - WEEK_DAYS), to: dateOf(today - 1) };
}

/** `weeks`: figures of the last week, compared with the week before. */
export interface Trends {
  compiled: CompiledCatalog;
  nowMs: number;
  weeks: AnalyticsMetrics['metrics'];
}

type Week = Trends['weeks'][number];

/** Metrics that are old enough for two weeks, and whose larger week has enough events. */
function comparable({ compiled, nowMs, weeks }: Trends): Week[] {
  const sinceMs = nowMs - 2 * WEEK_DAYS * DAY_MS;
  return weeks.filter(
    ({ id, events, eventsBefore }) =>
      Math.max(events, eventsBefore) >= LEAST_EVENTS && (compiled.metricsById.get(id)?.created ?? nowMs) <= sinceMs,
  );
}

/** `Flips from 1,200 to 300`, `Flips from 1,200 to 300 and Laps from 500 to 0`. */
const changes = (of: readonly Week[]): string =>
  names(
    of,
    ({ name, events, eventsBefore }) =>
      `${name} from ${eventsBefore.toLocaleString('en')} to ${events.toLocaleString('en')}`,
  );

export function eventsFell(trends: Trends): Finding | null {
  const fell = comparable(trends).filter(({ events, eventsBefore }) => events < eventsBefore * FELL_TO);
  if (fell.length === 0) return null;
  return {
    text: `Fewer events in the last 7 days than in the week before: ${changes(fell)}.`,
    advice: 'Check that the newest version of your app sends them, and that none are refused.',
    screen: '/metrics',
  };
}

export function eventsRose(trends: Trends): Finding | null {
  const rose = comparable(trends).filter(
    ({ events, eventsBefore }) => eventsBefore > 0 && events > eventsBefore * ROSE_TO,
  );
  if (rose.length === 0) return null;
  return {
    text: `Far more events in the last 7 days than in the week before: ${changes(rose)}.`,
    advice: 'If you did not expect it, check that events have idempotency keys, and limit a user with a guard.',
    screen: '/metrics',
  };
}

const DAY_TEXT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/** All active leaderboards end within a week, and none is scheduled. */
export function leaderboardsEnd({ compiled: { catalog }, nowMs }: Omit<Trends, 'weeks'>): Finding | null {
  const today = epochDay(nowMs);
  const playing = catalog.leaderboards.filter((board) => boardStatus(board, today) === 'active');
  const isScheduled = catalog.leaderboards.some((board) => boardStatus(board, today) === 'scheduled');
  const lastDays = playing.map(({ end }) => (end === null ? Infinity : dayOf(end)));
  const last = Math.max(...lastDays);
  if (playing.length === 0 || isScheduled || last > today + WEEK_DAYS) return null;
  return {
    text: `After ${DAY_TEXT.format(last * DAY_MS)}, no leaderboard is left: ${names(playing)} ${playing.length === 1 ? 'ends' : 'end'}.`,
    advice: 'Create the next one now; it may begin later.',
    screen: '/leaderboards#new-leaderboard',
  };
}
