import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Achievement, Leaderboard, PointsBoost, PointsLevel, PointsSystem } from '../../domain/catalog.ts';
import type { RankRewardRow } from '../../postgres/boards/rank-rewards.ts';
import type { BoardStatus, LeaderboardRanking, RankRewards } from '../../domain/leaderboard.ts';
import type { LeagueTier } from '../../domain/leagues.ts';
import type { Expiry, PayloadOf } from '../../domain/notifications/payloads.ts';
import type { NotificationType } from '../../domain/notifications/notification.ts';
import { dateOf, isoTime } from '../../domain/periods.ts';
import type { BalanceChange, PointsAwardResponse } from '../../domain/points.ts';
import type { Claim } from '../../domain/reward.ts';
import { runOf } from '../../domain/runs.ts';
import type { StreakResponse } from '../../domain/streaks/streak.ts';
import type { RecordedQuest } from '../../packed/record.ts';
import type { User } from '../../rules/user.ts';
import { achievementResponse, recordedQuest, userAchievementResponse } from '../responses/achievements.ts';
import { groupFields, leaderboardResponse } from '../responses/leaderboards.ts';
import { levelResponse, pointsResponse } from '../responses/points.ts';
import type { BaseStreak } from '../responses/streaks.ts';
import { userResponse } from '../responses/users.ts';

/** JSON text of a user, as in payloads. Built once for all notifications with that state. */
export type UserJson = string & { readonly isUser: true };

/** JSON text of a user in a state. `controlShare`: share of the users, 0 to 1, who are in the control group. */
export const userJson = (
  compiled: CompiledCatalog,
  shown: { userId: string; state: User; controlShare: number },
): UserJson => JSON.stringify(userResponse(compiled, shown)) as UserJson;

/** JSON text of a payload about no single user: `type` and the fields. */
const payloadJson = <T extends NotificationType>(type: T, fields: Omit<PayloadOf<T>, 'type'>): string =>
  JSON.stringify({ type, ...fields });

/** JSON text of a payload about a user: `type`, `user` and the other fields. */
const userPayloadJson = <T extends NotificationType>(
  type: T,
  user: UserJson,
  fields: Omit<PayloadOf<T>, 'type' | 'user'>,
): string => `{"type":"${type}","user":${user},${JSON.stringify(fields).slice(1)}`;

interface Completion {
  compiled: CompiledCatalog;
  achievement: Achievement;
  completedMs: number;
  /** Of a repeating achievement: the completed period. */
  quest: RecordedQuest | null;
}

export const achievementCompleted = (
  user: UserJson,
  { compiled, achievement, completedMs, quest }: Completion,
): string =>
  userPayloadJson('achievement.completed', user, {
    achievement: {
      ...achievementResponse(compiled, achievement),
      achievedAt: isoTime(completedMs),
      ...recordedQuest(compiled, achievement, quest),
    },
  });

/** `state`: the user's when it falls due. */
export const achievementDue = (
  user: UserJson,
  due: Pick<Completion, 'compiled' | 'achievement'> & { state: User; dueMs: number },
): string =>
  userPayloadJson('emails.achievement_due', user, {
    timestamp: isoTime(due.dueMs),
    achievement: userAchievementResponse(due.compiled, due.achievement, due.state, { nowMs: due.dueMs }),
  });

export const streakExtended = (
  type: 'streak.started' | 'streak.extended',
  user: UserJson,
  streak: BaseStreak,
): string => userPayloadJson(type, user, { streak });

/** Payload of `streak.lost`. `length`: the former length in periods. */
export const streakLost = (user: UserJson, lost: { length: number }): string =>
  userPayloadJson('streak.lost', user, lost);

/** Payload of `streak.freeze_consumed`: the number consumed, and the number left. */
export const freezeConsumed = (user: UserJson, { consumed, freezes }: { consumed: number; freezes: number }): string =>
  userPayloadJson('streak.freeze_consumed', user, { consumed, freezes });

/** Payload of `streak.freeze_earned`: the number earned, and the new number. */
export const freezeEarned = (user: UserJson, { earned, freezes }: { earned: number; freezes: number }): string =>
  userPayloadJson('streak.freeze_earned', user, { earned, freezes });

/** Payload of `emails.streak_reminder_due`, due at `dueMs` (epoch ms). */
export const streakReminderDue = (user: UserJson, streak: StreakResponse, dueMs: number): string =>
  userPayloadJson('emails.streak_reminder_due', user, { timestamp: isoTime(dueMs), streak });

interface PointsChange {
  system: PointsSystem;
  before: number;
  total: number;
  awards: PointsAwardResponse[];
}

const levelOrNull = (level: PointsLevel | null) => (level === null ? null : levelResponse(level));

/** Payload of `points.changed`, with the system as in an event's answer: `level` is present only if it changed. */
export function pointsChanged(
  compiled: CompiledCatalog,
  user: UserJson,
  { system, before, total, awards }: PointsChange,
): string {
  const level = compiled.levelOf(system.id, total);
  const changed = level?.id !== compiled.levelOf(system.id, before)?.id;
  return userPayloadJson('points.changed', user, {
    points: {
      ...pointsResponse(system),
      total,
      ...(changed && { level: levelOrNull(level) }),
      added: total - before,
      awards,
    },
  });
}

/** Payload of `points.spent` or `points.refunded`. */
export const spendingChanged = (
  type: 'points.spent' | 'points.refunded',
  user: UserJson,
  system: PointsSystem,
  spending: BalanceChange,
): string => userPayloadJson(type, user, { points: pointsResponse(system), spending });

export const expiryPayload = (
  type: 'points.expiring' | 'points.expired',
  user: UserJson,
  system: PointsSystem,
  expiry: Expiry,
): string => userPayloadJson(type, user, { points: pointsResponse(system), expiry });

export const rewardChanged = (
  type: 'reward.claimed' | 'reward.fulfilled' | 'reward.cancelled',
  user: UserJson,
  claim: Claim,
): string => userPayloadJson(type, user, { claim });

export const levelChanged = (
  user: UserJson,
  change: { system: PointsSystem; total: number; previousLevel: PointsLevel | null; newLevel: PointsLevel | null },
): string =>
  userPayloadJson('points.level_changed', user, {
    points: { ...pointsResponse(change.system), total: change.total },
    previousLevel: levelOrNull(change.previousLevel),
    newLevel: levelOrNull(change.newLevel),
  });

const BOOST_STATUS = { 'points.boost_started': 'active', 'points.boost_finished': 'finished' } as const;

/** Payload of `points.boost_started` and `points.boost_finished`, due at `dueMs` (epoch ms). */
export const boostPayload = (
  type: 'points.boost_started' | 'points.boost_finished',
  boost: PointsBoost,
  system: PointsSystem,
  dueMs: number,
): string =>
  payloadJson(type, {
    timestamp: isoTime(dueMs),
    boost: {
      id: boost.id,
      name: boost.name,
      status: BOOST_STATUS[type],
      userId: boost.userId,
      pointsSystemId: system.id,
      pointsSystemKey: system.key,
      pointsSystemName: system.name,
      start: boost.start,
      end: boost.end,
      multiplier: boost.multiplier,
      rounding: boost.rounding,
    },
  });

/** A group of a board's run. `runDay`: the run's first day (epoch day). `group`: '' without a breakdown. */
interface BoardGroup {
  compiled: CompiledCatalog;
  board: Leaderboard;
  runDay: number;
  group: string;
}

/** A user's place in it, and the place reported before; `null` if not on the board, or unknown. */
interface PlaceChange {
  rank: number | null;
  value: number | null;
  previousRank: number | null;
  previousValue: number | null;
}

/** An object's JSON text without the closing brace, so that fields can be appended. */
const opened = (fields: object): string => JSON.stringify(fields).slice(0, -1);

const runs = onceACatalog<string, string>();

/**
 * JSON text, without the closing brace, of the board with the dates of the run, as in an event's answer, and with the
 * group's values if there is a breakdown. Built as text because each event changes several boards.
 */
function openedBoard({ compiled, board, runDay, group }: BoardGroup, status: BoardStatus): string {
  const ofRun = runs(compiled, `${board.no} ${runDay} ${status}`, () => {
    const run = runOf(board, runDay);
    const dates = run && { start: dateOf(runDay), end: run.endDay === null ? null : dateOf(run.endDay) };
    return opened({ ...leaderboardResponse(compiled, board), status, ...dates });
  });
  return group === '' ? ofRun : `${ofRun},${opened(groupFields(compiled, board, group)).slice(1)}`;
}

export function rankChanged(user: UserJson, at: BoardGroup, change: PlaceChange): string {
  const { rank, value, previousRank, previousValue } = change;
  const place = JSON.stringify({ rank, value, previousRank, previousValue }).slice(1);
  return `{"type":"leaderboard.rank_changed","user":${user},"leaderboard":${openedBoard(at, 'active')},${place}}`;
}

/** What a reward for a final rank gave. Omits resources that were deleted meanwhile. */
export const rankRewardsOf = (
  compiled: CompiledCatalog,
  { points, achievements }: Pick<RankRewardRow, 'points' | 'achievements'>,
  { seesSecrets }: { seesSecrets: boolean },
): RankRewards => ({
  points: Object.fromEntries(
    Object.entries(points).flatMap(([no, awarded]) => {
      const system = compiled.pointsSystemsByNo.get(Number(no));
      return system === undefined ? [] : [[system.key, awarded]];
    }),
  ),
  achievements: achievements.flatMap((no) => {
    const achievement = compiled.achievementsByNo.get(no);
    if (achievement === undefined || (achievement.secret && !seesSecrets)) return [];
    return [achievement.key ?? achievement.id];
  }),
});

export function rankRewarded(
  user: UserJson,
  at: BoardGroup,
  { status, ...place }: { status: BoardStatus; rank: number; value: number; rewards: RankRewards },
): string {
  const board = `${openedBoard(at, status)},${JSON.stringify(place).slice(1)}`;
  return `{"type":"leaderboard.rewarded","user":${user},"leaderboard":${board}}`;
}

/** How a user moved at the end of a run. `rank`: in the cohort, `null` without a score. */
export function tierChanged(
  user: UserJson,
  at: BoardGroup,
  change: { status: BoardStatus; move: 'up' | 'down'; tier: LeagueTier; previousTier: LeagueTier; rank: number | null },
): string {
  const { status, ...moved } = change;
  const board = `${openedBoard(at, status)},${JSON.stringify(moved).slice(1)}`;
  return `{"type":"leaderboard.tier_changed","user":${user},"leaderboard":${board}}`;
}

/** Payload of `leaderboard.started`, `leaderboard.changed` and `leaderboard.finished`, with rankings best first. */
export const boardPayload = (
  type: 'leaderboard.started' | 'leaderboard.changed' | 'leaderboard.finished',
  at: BoardGroup,
  status: BoardStatus,
  rankings: LeaderboardRanking[],
): string => `{"type":"${type}","leaderboard":${openedBoard(at, status)},"rankings":${JSON.stringify(rankings)}}}`;

/** Payload of `user.merged`: the user who remains, and the IDs of both. */
export const userMerged = (user: UserJson, merge: PayloadOf<'user.merged'>['merge']): string =>
  userPayloadJson('user.merged', user, { merge });

export const recapDue = (
  user: UserJson,
  { dueMs, fromDay, toDay }: { dueMs: number; fromDay: number; toDay: number },
): string =>
  userPayloadJson('emails.recap_due', user, {
    timestamp: isoTime(dueMs),
    recap: { periodStart: dateOf(fromDay), periodEnd: dateOf(toDay) },
  });

/** Payload of `emails.reactivation_due`, due at `dueMs` (epoch ms); `messageNumber` starts at 1. */
export const reactivationDue = (
  user: UserJson,
  { dueMs, messageNumber, daysSinceLastActive }: { dueMs: number; messageNumber: number; daysSinceLastActive: number },
): string =>
  userPayloadJson('emails.reactivation_due', user, {
    timestamp: isoTime(dueMs),
    reactivation: { messageNumber, daysSinceLastActive },
  });

/**
 * Caches parts of payloads that depend only on a catalog version and a key. Keys must be few, since parts are kept as long as the
 * version.
 */
export function onceACatalog<K, T>(): (compiled: CompiledCatalog, key: K, make: () => T) => T {
  const catalogs = new WeakMap<CompiledCatalog, Map<K, T>>();
  return (compiled, key, make) => {
    let known = catalogs.get(compiled);
    if (known === undefined) catalogs.set(compiled, (known = new Map()));
    let value = known.get(key);
    if (value === undefined) known.set(key, (value = make()));
    return value;
  };
}
