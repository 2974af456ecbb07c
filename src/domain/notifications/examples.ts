import type { UserAchievementResponse } from '../achievement.ts';
import type { LeaderboardResponseWithRankings } from '../leaderboard.ts';
import type { BalanceChange, MetricEventPointsResponse, PointsLevelResponse } from '../points.ts';
import type { Claim } from '../reward.ts';
import type { User } from '../user.ts';
import type { BoardOfWebhook, BoostOfWebhook, PayloadOf } from './payloads.ts';
import type { WEBHOOK_EVENTS } from './webhook.ts';

const ID = '0190a5f2-7c3e-7b1a-9d3e-2f6b8c1d4e5';
const AT = '2026-03-02T09:30:00.000Z';

/** Belongs to no tenant, so a receiver that looks up the user finds nothing. */
export const EXAMPLE_USER_ID = 'example-user';

const user: User = {
  id: EXAMPLE_USER_ID,
  email: 'ada@example.org',
  name: 'Ada',
  tz: 'Europe/Berlin',
  signUpDate: '2026-01-15',
  deviceTokens: [],
  subscribeToEmails: true,
  attributes: { plan: 'pro' },
  control: false,
  created: '2026-01-15T08:00:00.000Z',
  updated: AT,
};

const achievement: UserAchievementResponse = {
  id: `${ID}0`,
  name: 'Card shark',
  trigger: 'metric',
  description: 'Flip 1,000 flashcards',
  badgeUrl: 'https://example.org/badge.png',
  key: 'card-shark',
  metricId: `${ID}1`,
  metricName: 'Flashcards flipped',
  metricValue: 1_000,
  userAttributes: [],
  achievedAt: AT,
};

const streak: PayloadOf<'streak.started'>['streak'] = {
  length: 1,
  frequency: 'daily',
  started: '2026-03-02',
  periodStart: '2026-03-02',
  periodEnd: '2026-03-02',
  expires: '2026-03-03',
  freezes: 2,
  maxFreezes: 3,
  freezeAutoEarnInterval: 7,
  freezeAutoEarnAmount: 1,
};
const longerStreak = { ...streak, length: 5, started: '2026-02-26' };

const spending: BalanceChange = {
  id: `${ID}8`,
  type: 'spend',
  pointsSystem: 'xp',
  amount: 40,
  balance: 500,
  spendingId: null,
  expiresAt: null,
  reason: null,
  reference: 'order-1042',
  createdAt: AT,
};

const level: PointsLevelResponse = {
  id: `${ID}3`,
  key: 'silver',
  name: 'Silver',
  description: 'From 500 XP on',
  badgeUrl: null,
  points: 500,
};

const system = {
  id: `${ID}2`,
  key: 'xp',
  name: 'XP',
  description: 'Points for learning',
  badgeUrl: null,
  maxPoints: null,
};

const points: MetricEventPointsResponse = {
  ...system,
  total: 510,
  level,
  added: 20,
  awards: [
    {
      id: `${ID}4`,
      awarded: 20,
      date: AT,
      total: 510,
      trigger: {
        id: `${ID}5`,
        type: 'metric',
        points: 20,
        status: 'active',
        metricId: `${ID}1`,
        metricName: 'Flashcards flipped',
        metricThreshold: 50,
        userAttributes: [],
        created: '2026-01-15T08:00:00.000Z',
        updated: '2026-01-15T08:00:00.000Z',
      },
      boosts: [],
    },
  ],
};

const claim: Claim = {
  id: `${ID}a`,
  userId: EXAMPLE_USER_ID,
  reward: { id: `${ID}b`, key: 'sticker-pack', name: 'Sticker pack' },
  pointsSystem: 'xp',
  price: 250,
  state: 'claimed',
  reason: null,
  claimedAt: AT,
  fulfilledAt: null,
  cancelledAt: null,
};
const LATER = '2026-03-03T14:00:00.000Z';

const boost = (status: BoostOfWebhook['status']): BoostOfWebhook => ({
  id: `${ID}6`,
  name: 'Double weekend',
  status,
  userId: null,
  pointsSystemId: system.id,
  pointsSystemKey: system.key,
  pointsSystemName: system.name,
  start: '2026-03-07',
  end: '2026-03-08',
  multiplier: 2,
  rounding: 'nearest',
});

const boardFields = {
  id: `${ID}7`,
  name: 'This week',
  key: 'this-week',
  rankBy: 'metric' as const,
  breakdownAttribute: null,
  breakdownAttributes: [],
  metricKey: 'flashcards-flipped',
  metricName: 'Flashcards flipped',
  description: null,
  start: '2026-03-02',
  end: null,
  startTime: null,
  endTime: null,
  maxParticipants: 100,
  runUnit: 'day' as const,
  runInterval: 7,
};

const board = (status: LeaderboardResponseWithRankings['status']): LeaderboardResponseWithRankings => ({
  ...boardFields,
  status,
  rankings:
    status === 'scheduled'
      ? []
      : [
          { userId: 'example-leader', userName: 'Grace', rank: 1, value: 120 },
          { userId: EXAMPLE_USER_ID, userName: 'Ada', rank: 2, value: 95 },
        ],
});

const place: BoardOfWebhook = {
  ...boardFields,
  status: 'active',
  rank: 2,
  value: 95,
  previousRank: 3,
  previousValue: 75,
};

/** One example per type. Each matches its schema in `NOTIFICATION_PAYLOADS`. */
export const NOTIFICATION_EXAMPLES: { readonly [T in (typeof WEBHOOK_EVENTS)[number]]: PayloadOf<T> } = {
  'achievement.completed': { type: 'achievement.completed', user, achievement },
  'streak.started': { type: 'streak.started', user, streak },
  'streak.extended': { type: 'streak.extended', user, streak: longerStreak },
  'streak.lost': { type: 'streak.lost', user, length: 5 },
  'streak.freeze_consumed': { type: 'streak.freeze_consumed', user, consumed: 1, freezes: 1 },
  'streak.freeze_earned': { type: 'streak.freeze_earned', user, earned: 1, freezes: 2 },
  'points.changed': { type: 'points.changed', user, points },
  'points.level_changed': {
    type: 'points.level_changed',
    user,
    points: { ...system, total: points.total },
    previousLevel: null,
    newLevel: level,
  },
  'points.spent': { type: 'points.spent', user, points: system, spending },
  'points.refunded': {
    type: 'points.refunded',
    user,
    points: system,
    spending: { ...spending, id: `${ID}9`, type: 'refund', balance: 540, spendingId: spending.id, reference: null },
  },
  'points.expiring': {
    type: 'points.expiring',
    user,
    points: system,
    expiry: { amount: 30, balance: 540, date: '2026-03-13' },
  },
  'points.expired': {
    type: 'points.expired',
    user,
    points: system,
    expiry: { amount: 30, balance: 510, date: '2026-03-13' },
  },
  'reward.claimed': { type: 'reward.claimed', user, claim },
  'reward.fulfilled': { type: 'reward.fulfilled', user, claim: { ...claim, state: 'fulfilled', fulfilledAt: LATER } },
  'reward.cancelled': {
    type: 'reward.cancelled',
    user,
    claim: { ...claim, state: 'cancelled', reason: 'Out of print', cancelledAt: LATER },
  },
  'points.boost_started': {
    type: 'points.boost_started',
    timestamp: '2026-03-06T10:00:00.000Z',
    boost: boost('active'),
  },
  'points.boost_finished': {
    type: 'points.boost_finished',
    timestamp: '2026-03-09T13:00:00.000Z',
    boost: boost('finished'),
  },
  'leaderboard.started': { type: 'leaderboard.started', leaderboard: board('active') },
  'leaderboard.changed': { type: 'leaderboard.changed', leaderboard: board('active') },
  'leaderboard.finished': { type: 'leaderboard.finished', leaderboard: board('finished') },
  'leaderboard.rank_changed': { type: 'leaderboard.rank_changed', user, leaderboard: place },
  'leaderboard.rewarded': {
    type: 'leaderboard.rewarded',
    user,
    leaderboard: {
      ...boardFields,
      status: 'active',
      rank: 2,
      value: 95,
      rewards: { points: { xp: 100 }, achievements: ['podium'] },
    },
  },
  'leaderboard.tier_changed': {
    type: 'leaderboard.tier_changed',
    user,
    leaderboard: {
      ...boardFields,
      status: 'active',
      move: 'up',
      tier: { number: 2, name: 'Silver', badge: null },
      previousTier: { number: 1, name: 'Bronze', badge: null },
      rank: 3,
    },
  },
  'user.merged': { type: 'user.merged', user, merge: { from: 'guest-7f3a', into: EXAMPLE_USER_ID, mergedAt: AT } },
  'emails.recap_due': {
    type: 'emails.recap_due',
    timestamp: '2026-03-09T08:00:00.000Z',
    user,
    recap: { periodStart: '2026-03-02', periodEnd: '2026-03-08' },
  },
  'emails.reactivation_due': {
    type: 'emails.reactivation_due',
    timestamp: '2026-03-05T09:00:00.000Z',
    user,
    reactivation: { messageNumber: 1, daysSinceLastActive: 3 },
  },
  'emails.streak_reminder_due': {
    type: 'emails.streak_reminder_due',
    timestamp: '2026-03-03T19:00:00.000Z',
    user,
    streak: {
      ...longerStreak,
      extended: AT,
      streakHistory: [
        { periodStart: '2026-03-02', periodEnd: '2026-03-02', length: 5, usedFreeze: false, usedPause: false },
        { periodStart: '2026-03-03', periodEnd: '2026-03-03', length: 5, usedFreeze: false, usedPause: false },
      ],
      pauses: [],
    },
  },
  'emails.achievement_due': {
    type: 'emails.achievement_due',
    timestamp: '2026-03-02T17:00:00.000Z',
    user,
    achievement,
  },
};
