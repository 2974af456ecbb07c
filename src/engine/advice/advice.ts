import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { type Clock, systemClock } from '../../clock.ts';
import type { AdviceCode, AdviceItem, Finding } from '../../domain/administration/advice.ts';
import type { AnalyticsAchievements, AnalyticsMetrics, AnalyticsPoints } from '../../domain/analytics-responses.ts';
import { type Achievement, type Leaderboard, MOST_RESOURCES, MOST_WEBHOOKS } from '../../domain/catalog.ts';
import { DAY_MS, epochDay } from '../../domain/periods.ts';
import { boardStatus, playedRule, runShownOn } from '../../domain/runs.ts';
import { counted } from '../../domain/words.ts';
import { idleAdminKeys } from '../../postgres/access/admin-keys.ts';
import { ownEnabledChannels, type OwnChannels } from '../../postgres/notifications/message-channels.ts';
import { knownProfiles } from '../../postgres/users/stored-states.ts';
import { boardGroupsKey, boardKey } from '../../redis/keys.ts';
import { tenantParts } from '../../redis/parts.ts';
import type { RecentRequest, RecentRequests } from '../../redis/recent-requests.ts';
import type { AnalyticsReads } from '../analytics/analytics-reads.ts';
import { names, placeOf } from './finding.ts';
import { emailsWithoutAddresses, messagesNeverDue, type Reach, usersWithoutZone } from './reach.ts';
import { refusedEvents } from './refusals.ts';
import { awardsOf, type Shares, triggerDominates } from './shares.ts';
import {
  claimsWaiting,
  eventsFell,
  eventsRose,
  lastWeek,
  leaderboardsEnd,
  rewardsRunningOut,
  type Stocks,
  stocksOf,
  type Trends,
  waitingClaims,
} from './trends.ts';

/** Resources are not judged before they are this old. */
const JUDGED_AFTER_MS = 2 * DAY_MS;
/** Achievements are not judged with fewer users, nor before they are this old. */
const LEAST_USERS = 20;
const ACHIEVEMENTS_AFTER_MS = 7 * DAY_MS;
const EVERYBODY = 0.95;
const UNUSED_KEYS_AFTER_MS = 7 * DAY_MS;
const IDLE_KEYS_AFTER_DAYS = 90;
/** Share of a limit from which on it is near. */
const NEAR = 0.8;
/** The requests of the last hour that are looked at, and the leaderboards. */
const MOST_REQUESTS = 1_000;
const MOST_BOARDS = 100;

interface AdviceOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  analytics: Pick<AnalyticsReads, 'metrics' | 'achievements' | 'points'>;
  recentRequests: Pick<RecentRequests, 'read'>;
}

/** What the advice is about: a tenant's configuration, and how it was used in the last 30 days. */
interface Facts extends Trends, Reach, Shares {
  metrics: AnalyticsMetrics['metrics'];
  /** How many users hold each achievement. */
  achievements: AnalyticsAchievements['achievements'];
  points: AnalyticsPoints['systems'];
  channels: OwnChannels;
  stocks: Stocks;
  /** Claims that nobody has delivered for days. */
  waiting: number;
  emptyBoards: readonly Leaderboard[];
  requests: readonly RecentRequest[];
  /** The admin keys that were never used, or not for long; empty for a key of one tenant. */
  idleKeys: readonly { name: string; wasUsed: boolean }[];
}

/**
 * Returns what an administrator could improve, at most one item per code. Reads the sums that analytics keep, a few counters,
 * some claims of rewards and the requests of the last hour, never users or events, so the cost depends on the configuration alone.
 */
export function createAdvice({ redis, pool, clock, analytics, recentRequests }: AdviceOptions) {
  return async (compiled: CompiledCatalog, { ofAll }: { ofAll: boolean }): Promise<AdviceItem[]> => {
    const { catalog } = compiled;
    const { tenantNo } = catalog;
    const nowMs = clock.now();
    const [metrics, weeks, achievements, points, channels, stocks, waiting, emptyBoards, requests, idleKeys] =
      await Promise.all([
        analytics.metrics(compiled, { days: false }),
        analytics.metrics(compiled, { ...lastWeek(nowMs), days: false }),
        analytics.achievements(compiled, {}),
        analytics.points(compiled, {}),
        ownEnabledChannels(pool, tenantNo),
        stocksOf(pool, compiled, nowMs),
        waitingClaims(pool, compiled, nowMs),
        emptyBoardsOf(redis, compiled, nowMs),
        recentRequests.read(tenantNo, { limit: MOST_REQUESTS, nowMs: systemClock.now() }),
        ofAll
          ? idleAdminKeys(pool, {
              createdBeforeMs: nowMs - UNUSED_KEYS_AFTER_MS,
              usedBeforeMs: nowMs - IDLE_KEYS_AFTER_DAYS * DAY_MS,
            })
          : [],
      ]);
    // Now Postgres has every profile and sum that was answered before: analytics waited for it.
    const [known, awards] = await Promise.all([knownProfiles(pool, tenantNo), awardsOf(pool, compiled, nowMs)]);
    const facts: Facts = {
      compiled,
      nowMs,
      metrics: metrics.metrics,
      weeks: weeks.metrics,
      users: achievements.users,
      achievements: achievements.achievements,
      points: points.systems,
      awards,
      known,
      channels,
      stocks,
      waiting,
      emptyBoards,
      requests,
      idleKeys,
    };
    return Object.entries(FINDINGS).flatMap(([code, find]) => {
      const finding = find(facts);
      return finding === null ? [] : [{ code: code as AdviceCode, ...finding }];
    });
  };
}

/** Active leaderboards on whose current run nobody is. A run that began lately is left out, and so are those of a day. */
async function emptyBoardsOf(redis: Redis, { catalog }: CompiledCatalog, nowMs: number): Promise<Leaderboard[]> {
  const today = epochDay(nowMs);
  const runs = catalog.leaderboards
    .filter((board) => boardStatus(board, today) === 'active' && board.created <= nowMs - JUDGED_AFTER_MS)
    .map((board) => ({ board, runDay: runShownOn(playedRule(board), today).startDay }))
    .filter(({ runDay }) => (today - runDay) * DAY_MS >= JUDGED_AFTER_MS)
    .slice(0, MOST_BOARDS);
  const parts = tenantParts(redis, catalog.tenantNo);
  const findings = await Promise.all(
    runs.map(async ({ board, runDay }) => {
      const run = { tenantNo: catalog.tenantNo, boardNo: board.no, runDay };
      const keyIn = (part: (typeof parts)[number]): string =>
        board.breakdownAttributes.length > 0 ? boardGroupsKey(part, run) : boardKey(part, { ...run, group: '' });
      const existing = await Promise.all(parts.map((part) => redis.exists(keyIn(part))));
      return existing.every((count) => count === 0) ? [board] : [];
    }),
  );
  return findings.flat();
}

/** In the order of the list. */
const FINDINGS: Readonly<Record<AdviceCode, (facts: Facts) => Finding | null>> = {
  events_refused: refusedEvents,
  events_fell: eventsFell,
  events_rose: eventsRose,
  metrics_without_events: ({ compiled, nowMs, metrics }) => {
    const old = new Set(
      compiled.catalog.metrics.filter(({ created }) => created <= nowMs - JUDGED_AFTER_MS).map(({ id }) => id),
    );
    const unused = metrics.filter(({ id, events }) => events === 0 && old.has(id));
    if (unused.length === 0) return null;
    return {
      text: `No event of ${names(unused)} arrived in the last 30 days.`,
      advice: 'Check that your app sends them with this key, or delete what you do not need.',
      screen: placeOf('/metrics', unused),
    };
  },
  nothing_to_reach: ({ compiled: { catalog }, metrics }) => {
    const isActive = ({ status }: { status: string }): boolean => status !== 'inactive' && status !== 'archived';
    const hasRule = [catalog.achievements, catalog.triggers, catalog.leaderboards].some((all) => all.some(isActive));
    if (hasRule || metrics.every(({ events }) => events === 0)) return null;
    return {
      text: 'Events are counted, but users can reach nothing with them.',
      advice: 'Create an achievement, or a points system or leaderboard.',
      screen: '/achievements#new-achievement',
    };
  },
  points_without_trigger: ({ compiled: { catalog } }) => {
    const awarding = new Set(
      catalog.triggers.filter(({ status }) => status === 'active').map(({ systemId }) => systemId),
    );
    const idle = catalog.pointsSystems.filter(({ id }) => !awarding.has(id));
    if (idle.length === 0) return null;
    return {
      text: `Users get no ${names(idle)}: no active trigger awards points.`,
      advice: 'Add a trigger that says what points are awarded for.',
      screen: idle.length === 1 ? `/points/${idle[0]!.id}` : '/points',
    };
  },
  messages_without_channel: ({ compiled: { catalog }, channels }) => {
    const email = catalog.messages.templates.length > 0 && !channels.email;
    const push = catalog.messages.pushTemplates.length > 0 && !channels.push;
    if (!email && !push) return null;
    return {
      text: `There are templates of ${email ? 'e-mails' : 'push notifications'}, but no enabled channel sends them.`,
      advice: 'Set up and enable the channel.',
      screen: email ? '/messages/channel' : '/messages/push-channels',
    };
  },
  messages_never_due: messagesNeverDue,
  emails_without_addresses: emailsWithoutAddresses,
  users_without_zone: usersWithoutZone,
  rewards_run_out: ({ stocks }) => rewardsRunningOut(stocks),
  rewards_sold_out: ({ stocks: { soldOut } }) =>
    soldOut.length === 0
      ? null
      : {
          text: `Nothing is left of ${names(soldOut)}.`,
          advice: 'Raise the stock, or make the reward inactive.',
          screen: placeOf('/rewards', soldOut),
        },
  claims_waiting: ({ waiting }) => claimsWaiting(waiting),
  achievements_of_nobody: (facts) => {
    const unreached = judged(facts).filter(({ holders }) => holders === 0);
    if (unreached.length === 0) return null;
    return {
      text: `None of ${counted(facts.users, 'user')} has ${names(unreached)}.`,
      advice: 'Check the condition, or begin with an easier goal.',
      screen: placeOf('/achievements', unreached),
    };
  },
  achievements_of_everybody: (facts) => {
    const isOfEverybody = ({ holders }: { holders: number }): boolean => holders >= facts.users * EVERYBODY;
    // A first step that everybody takes is fine while there is a next one.
    const followed = new Set(
      facts.achievements.filter((one) => !isOfEverybody(one)).map(({ id }) => subjectOf(facts, id)),
    );
    const trivial = judged(facts).filter((one) => isOfEverybody(one) && !followed.has(subjectOf(facts, one.id)));
    if (trivial.length === 0) return null;
    return {
      text: `Nearly every user has ${names(trivial)}.`,
      advice: 'Add a harder achievement after it, so that there is something left to reach.',
      screen: '/achievements#new-achievement',
    };
  },
  leaderboards_end: leaderboardsEnd,
  leaderboards_without_users: ({ emptyBoards }) =>
    emptyBoards.length === 0
      ? null
      : {
          text: `Nobody is on ${names(emptyBoards)} in the current run.`,
          advice: 'Check what it ranks by and its conditions, or end it.',
          screen: placeOf('/leaderboards', emptyBoards),
        },
  points_without_use: ({ compiled: { catalog }, points }) => {
    const used = new Set([
      ...catalog.rewards.map(({ pointsSystemId }) => pointsSystemId),
      ...catalog.leaderboards.map(({ pointsSystemId }) => pointsSystemId),
      ...catalog.levels.map(({ systemId }) => systemId),
    ]);
    const piling = points.filter(({ id, awarded, spent }) => awarded > 0 && spent === 0 && !used.has(id));
    if (piling.length === 0) return null;
    return {
      text: `${names(piling)} only ${piling.length === 1 ? 'accumulates' : 'accumulate'}: no level, leaderboard or reward uses the points.`,
      advice: 'Add levels or a leaderboard, or let users claim rewards.',
      screen: piling.length === 1 ? `/points/${piling[0]!.id}` : '/points',
    };
  },
  trigger_dominates: triggerDominates,
  limit_near: ({ compiled: { catalog } }) => {
    const { attributes, metrics, achievements, pointsSystems, levels, triggers, boosts, leaderboards, rewards } =
      catalog;
    const lists = [attributes, metrics, achievements, pointsSystems, levels, triggers, boosts, leaderboards, rewards];
    const resources = lists.reduce((sum, { length }) => sum + length, catalog.webhooks.length);
    if (resources >= MOST_RESOURCES * NEAR)
      return nearLimit(resources, { most: MOST_RESOURCES, noun: 'resource', screen: '/configuration' });
    if (catalog.webhooks.length >= MOST_WEBHOOKS * NEAR)
      return nearLimit(catalog.webhooks.length, { most: MOST_WEBHOOKS, noun: 'webhook', screen: '/webhooks' });
    return null;
  },
  keys_unused: ({ idleKeys }) => {
    if (idleKeys.length === 0) return null;
    const sentence = (keys: typeof idleKeys, since: string): string[] =>
      keys.length === 0
        ? []
        : [`Nobody has used the admin ${keys.length === 1 ? 'key' : 'keys'} ${names(keys)}${since}.`];
    const never = idleKeys.filter(({ wasUsed }) => !wasUsed);
    const lately = idleKeys.filter(({ wasUsed }) => wasUsed);
    return {
      text: [...sentence(never, ''), ...sentence(lately, ` for ${IDLE_KEYS_AFTER_DAYS} days`)].join(' '),
      advice: 'Delete keys that you do not need, so that nobody can find and use them.',
      screen: '/keys',
    };
  },
};

const nearLimit = (count: number, { most, noun, screen }: { most: number; noun: string; screen: string }): Finding => ({
  text: `The tenant has ${counted(count, noun)} of at most ${most}.`,
  advice: 'Delete those that you do not need.',
  screen,
});

/** Achievements that users could have completed by now, with their holders. */
function judged({ compiled, nowMs, users, achievements }: Facts): Facts['achievements'] {
  if (users < LEAST_USERS) return [];
  return achievements.filter(({ id }) => isJudged(compiled.achievementsById.get(id), nowMs));
}

/** What an active achievement counts; '' for others. */
function subjectOf({ compiled }: Facts, id: string): string {
  const achievement = compiled.achievementsById.get(id);
  return achievement?.status === 'active' ? `${achievement.trigger} ${achievement.metricId ?? ''}` : '';
}

function isJudged(achievement: Achievement | undefined, nowMs: number): boolean {
  if (achievement === undefined) return false;
  const { status, created, startDate, endDate, trigger } = achievement;
  // Dated ones may not have begun, or are over; years take a year.
  if (status !== 'active' || startDate !== null || endDate !== null || trigger === 'anniversary') return false;
  return created <= nowMs - ACHIEVEMENTS_AFTER_MS;
}
