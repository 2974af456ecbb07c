import { ROUNDINGS } from '../rule-kinds.ts';
import { type Static, type TProperties, Type } from 'typebox';
import { KeyValue, UserAchievementResponse } from '../achievement.ts';
import { BoardStatus, leaderboardFields, LeaderboardResponseWithRankings, RankRewards } from '../leaderboard.ts';
import { LeagueTier } from '../leagues.ts';
import { BalanceChange, MetricEventPointsResponse, PointsLevelResponse, PointsResponse } from '../points.ts';
import { Claim } from '../reward.ts';
import { LocalDate, Nullable, NullableWholeNumber, WholeNumber } from '../schemas.ts';
import { streakFields, StreakResponse } from '../streaks/streak.ts';
import { User } from '../user.ts';
import type { WEBHOOK_EVENTS } from './webhook.ts';

/**
 * Schemas of the 28 webhook payloads: 18 as the contract defines them, and Laurel's own. All senders and documents derive from these.
 */

type WebhookType = (typeof WEBHOOK_EVENTS)[number];

const payload = <T extends WebhookType, P extends TProperties>(type: T, fields: P) =>
  Type.Object({ type: Type.Literal(type), ...fields });

const aboutUser = { user: User };
/** When the notification fell due; only on those that the clock causes. */
const timestamp = Type.String({ format: 'date-time' });

const Streak = Type.Object(streakFields);

export const BoostOfWebhook = Type.Object({
  id: Type.String(),
  name: Type.String(),
  status: Type.Enum(['active', 'finished']),
  userId: Nullable(Type.String()),
  pointsSystemId: Type.String(),
  pointsSystemKey: Type.String(),
  pointsSystemName: Type.String(),
  start: LocalDate,
  end: Nullable(LocalDate),
  multiplier: Type.Number(),
  rounding: Type.Enum([...ROUNDINGS]),
});
export type BoostOfWebhook = Static<typeof BoostOfWebhook>;

/** The group of a leaderboard with a breakdown. The contract has it only in answers to events. */
const groupOfBoard = {
  breakdownAttributeValue: Type.Optional(Type.String()),
  breakdownAttributeValues: Type.Optional(Type.Array(KeyValue)),
};

const BoardWithRankings = Type.Object({ ...LeaderboardResponseWithRankings.properties, ...groupOfBoard });

/** How a user moved at the end of a run, with the rank in the cohort; `null` without a score. */
const BoardOfTiers = Type.Object({
  ...leaderboardFields,
  status: BoardStatus,
  move: Type.Enum(['up', 'down'], { description: 'Whether the user moved up or down.' }),
  tier: { ...LeagueTier, description: 'The tier after the move.' },
  previousTier: { ...LeagueTier, description: 'The tier before the move.' },
  rank: Nullable(Type.Integer()),
});

/** A user's final rank in a run, and what it earned. */
const RewardedBoard = Type.Object({
  ...leaderboardFields,
  ...groupOfBoard,
  status: BoardStatus,
  rank: Type.Integer(),
  value: WholeNumber(),
  rewards: RankRewards,
});

/** A user's rank and the last reported rank. Values are decimal if the metric is. */
export const BoardOfWebhook = Type.Object({
  ...leaderboardFields,
  ...groupOfBoard,
  status: BoardStatus,
  rank: Nullable(Type.Integer()),
  value: NullableWholeNumber(),
  previousRank: Nullable(Type.Integer()),
  previousValue: NullableWholeNumber(),
});
export type BoardOfWebhook = Static<typeof BoardOfWebhook>;

const level = Nullable(PointsLevelResponse);

/** Points that expire or have expired. */
export const Expiry = Type.Object({
  amount: Type.Integer(),
  /** What the user can spend at the time of the message. */
  balance: Type.Integer(),
  /** The UTC day at whose start they expire. */
  date: LocalDate,
});
export type Expiry = Static<typeof Expiry>;

const expiryFields = { ...aboutUser, points: PointsResponse, expiry: Expiry };

const spendingFields = { ...aboutUser, points: PointsResponse, spending: BalanceChange };

/** `from` was merged into `into`, the user. */
const Merge = Type.Object({ from: Type.String(), into: Type.String(), mergedAt: timestamp });

const claimFields = { ...aboutUser, claim: Claim };

export const NOTIFICATION_PAYLOADS = {
  'achievement.completed': payload('achievement.completed', { ...aboutUser, achievement: UserAchievementResponse }),
  'streak.started': payload('streak.started', { ...aboutUser, streak: Streak }),
  'streak.extended': payload('streak.extended', { ...aboutUser, streak: Streak }),
  'streak.lost': payload('streak.lost', { ...aboutUser, length: Type.Integer() }),
  'streak.freeze_consumed': payload('streak.freeze_consumed', {
    ...aboutUser,
    consumed: Type.Integer(),
    freezes: Type.Integer(),
  }),
  'streak.freeze_earned': payload('streak.freeze_earned', {
    ...aboutUser,
    earned: Type.Integer(),
    freezes: Type.Integer(),
  }),
  'points.changed': payload('points.changed', { ...aboutUser, points: MetricEventPointsResponse }),
  'points.level_changed': payload('points.level_changed', {
    ...aboutUser,
    points: Type.Object({ ...PointsResponse.properties, total: Type.Integer() }),
    previousLevel: level,
    newLevel: level,
  }),
  'points.spent': payload('points.spent', spendingFields),
  'points.refunded': payload('points.refunded', spendingFields),
  'points.expiring': payload('points.expiring', expiryFields),
  'points.expired': payload('points.expired', expiryFields),
  'points.boost_started': payload('points.boost_started', { timestamp, boost: BoostOfWebhook }),
  'points.boost_finished': payload('points.boost_finished', { timestamp, boost: BoostOfWebhook }),
  'reward.claimed': payload('reward.claimed', claimFields),
  'reward.fulfilled': payload('reward.fulfilled', claimFields),
  'reward.cancelled': payload('reward.cancelled', claimFields),
  'leaderboard.started': payload('leaderboard.started', { leaderboard: BoardWithRankings }),
  'leaderboard.changed': payload('leaderboard.changed', { leaderboard: BoardWithRankings }),
  'leaderboard.finished': payload('leaderboard.finished', { leaderboard: BoardWithRankings }),
  'leaderboard.rank_changed': payload('leaderboard.rank_changed', { ...aboutUser, leaderboard: BoardOfWebhook }),
  'leaderboard.rewarded': payload('leaderboard.rewarded', { ...aboutUser, leaderboard: RewardedBoard }),
  'leaderboard.tier_changed': payload('leaderboard.tier_changed', { ...aboutUser, leaderboard: BoardOfTiers }),
  'user.merged': payload('user.merged', { ...aboutUser, merge: Merge }),
  'emails.recap_due': payload('emails.recap_due', {
    timestamp,
    ...aboutUser,
    recap: Type.Object({ periodStart: LocalDate, periodEnd: LocalDate }),
  }),
  'emails.reactivation_due': payload('emails.reactivation_due', {
    timestamp,
    ...aboutUser,
    reactivation: Type.Object({ messageNumber: Type.Integer(), daysSinceLastActive: Type.Integer() }),
  }),
  'emails.streak_reminder_due': payload('emails.streak_reminder_due', {
    timestamp,
    ...aboutUser,
    streak: StreakResponse,
  }),
  'emails.achievement_due': payload('emails.achievement_due', {
    timestamp,
    ...aboutUser,
    achievement: UserAchievementResponse,
  }),
} satisfies Record<WebhookType, unknown>;

export type PayloadOf<T extends WebhookType> = Static<(typeof NOTIFICATION_PAYLOADS)[T]>;
