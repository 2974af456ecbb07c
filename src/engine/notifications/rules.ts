import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Achievement } from '../../domain/catalog.ts';
import { turned } from '../../domain/leaderboard.ts';
import { boardStatus } from '../../domain/runs.ts';
import { rankRewardOf } from '../leaderboards/reward-record.ts';
import type {
  BoardPlace,
  Notification,
  NotificationSubject,
  NotificationType,
} from '../../domain/notifications/notification.ts';
import type { Expiry } from '../../domain/notifications/payloads.ts';
import { dateOf, FREQUENCIES, periodOf, epochDay, isoTime } from '../../domain/periods.ts';
import type { PointsAwardResponse, PointsTriggerResponse } from '../../domain/points.ts';
import {
  AWARD,
  BALANCE,
  MERGED,
  RECORD,
  RECORDED_BOARD,
  RECORDED_POINTS,
  RECORDED_STREAK,
  REVERSAL,
  SETTLED,
  SETTLEMENT,
} from '../../packed/record-fields.ts';
import { completedIn } from '../../packed/completed.ts';
import type {
  HappenedRecord,
  MergeRecord,
  RecordedAward,
  RecordedBoard,
  RecordedSettlement,
} from '../../packed/record.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { FREQUENCY } from '../../packed/user-fields.ts';
import { uuidText } from '../../domain/schemas.ts';
import type { BalanceChangeRow } from '../../postgres/balance-changes.ts';
import { awardId } from '../ids.ts';
import { balanceChangeAnswer, balanceChangeOf } from '../points/balances.ts';
import { boostResponse, triggerResponse } from '../responses/points.ts';
import { recordedStreak } from '../responses/streaks.ts';
import {
  achievementCompleted,
  expiryPayload,
  freezeConsumed,
  freezeEarned,
  levelChanged,
  onceACatalog,
  pointsChanged,
  rankChanged,
  rankRewarded,
  rankRewardsOf,
  spendingChanged,
  streakExtended,
  streakLost,
  type UserJson,
  userJson,
  userMerged,
} from './payloads.ts';
import { scoreIn } from '../../rules/leaderboards.ts';
import { decimalNumber } from '../../domain/decimal.ts';

/** Whether a receiver wants a type; with a subject, notifications about that subject. */
export type Wants = (type: NotificationType, about?: NotificationSubject) => boolean;

interface Change {
  compiled: CompiledCatalog;
  wants: Wants;
  record: HappenedRecord;
  /** The record's user in the state after the entry. Decoding is costly, so use it only for wanted notifications. */
  user: RecordedUser;
}

/** The result of a rule. `no` is unique among the record's notifications of the type. */
interface Reported {
  type: NotificationType;
  no: number;
  about: NotificationSubject;
  place?: BoardPlace;
  payload: string;
}

/** The subject of a notification about an achievement, for filters: the metric, if a metric completes it. */
export const aboutAchievement = ({ trigger, metricId }: Achievement): NotificationSubject =>
  trigger === 'metric' && metricId !== null ? { metricId } : {};

export function* achievementNotifications({ compiled, record, wants, user }: Change): Generator<Reported> {
  for (const { achievementNo: no, quest } of completedIn(record)) {
    const achievement = compiled.achievementsByNo.get(no);
    if (achievement === undefined) continue;
    const about = aboutAchievement(achievement);
    if (!wants('achievement.completed', about)) continue;
    const completion = { compiled, achievement, completedMs: record[RECORD.atMs], quest };
    yield { type: 'achievement.completed', no, about, payload: achievementCompleted(user.json(), completion) };
  }
}

interface Candidate {
  type: NotificationType;
  payload: (user: UserJson) => string;
}

/**
 * Changes of the user's streak: first those by the clock (freezes earned and consumed, streak lost), then those by the event
 * (started, extended). An administrator's reset and a reversal that leaves no streak also count as lost. A restored streak
 * is not reported, nor the one that it replaces. Nothing if streaks are switched off for all or by the user.
 */
export function* streakNotifications(change: Change): Generator<Reported> {
  const { compiled, wants, user } = change;
  if (!compiled.catalog.streaks.enabled) return;
  const changes = [...settled(change), ...extended(change)].filter(({ type }) => wants(type, {}));
  if (changes.length === 0) return;
  if (user.state().streakRule?.enabled === false) return;
  for (const { type, payload } of changes) yield { type, no: 0, about: {}, payload: payload(user.json()) };
}

function* settled({ compiled, record }: Change): Generator<Candidate> {
  const settlements = record[RECORD.settlements] ?? [];
  const freezes = record[RECORD.freezes] ?? 0;
  const earned = record[RECORD.freezesEarned] ?? 0;
  if (earned > 0) yield { type: 'streak.freeze_earned', payload: (user) => freezeEarned(user, { earned, freezes }) };
  const consumed = settlements.reduce((sum, settlement) => sum + freezesIn(compiled, settlement), 0);
  if (consumed > 0)
    yield { type: 'streak.freeze_consumed', payload: (user) => freezeConsumed(user, { consumed, freezes }) };
  const counted = FREQUENCY[compiled.catalog.streaks.frequency];
  const lost = settlements.findLast(
    (settlement) =>
      settlement[SETTLEMENT.frequency] === counted &&
      (settlement[SETTLEMENT.kind] === SETTLED.lost || settlement[SETTLEMENT.kind] === SETTLED.reset),
  );
  const length = lost?.[SETTLEMENT.length] ?? record[RECORD.reversal]?.[REVERSAL.endedStreak] ?? 0;
  if (length > 0) yield { type: 'streak.lost', payload: (user) => streakLost(user, { length }) };
}

/** Number of freezes that a settlement used: one for each period. */
function freezesIn({ catalog: { streaks } }: CompiledCatalog, settlement: RecordedSettlement): number {
  const frequency = FREQUENCIES[settlement[SETTLEMENT.frequency] - 1];
  if (settlement[SETTLEMENT.kind] !== SETTLED.freeze || frequency === undefined) return 0;
  const period = (day: number): number => periodOf(day, frequency, streaks.weekStart);
  return period(settlement[SETTLEMENT.lastDay]) - period(settlement[SETTLEMENT.firstDay]) + 1;
}

function* extended({ compiled, record }: Change): Generator<Candidate> {
  const streak = record[RECORD.streak];
  if (streak?.[RECORDED_STREAK.extended] !== 1) return;
  const type = streak[RECORDED_STREAK.length] === 1 ? 'streak.started' : 'streak.extended';
  const shown = recordedStreak(compiled, streak, record[RECORD.day]);
  yield { type, payload: (user) => streakExtended(type, user, shown) };
}

export function* pointsNotifications({ compiled, record, wants, user }: Change): Generator<Reported> {
  // Awards are numbered across all systems of a record.
  let ordinal = 0;
  for (const points of record[RECORD.points] ?? []) {
    const no = points[RECORDED_POINTS.system];
    const before = points[RECORDED_POINTS.before];
    const total = points[RECORDED_POINTS.after];
    const awards = points[RECORDED_POINTS.awards];
    const first = ordinal + 1;
    ordinal += awards.length;
    const system = compiled.pointsSystemsByNo.get(no);
    // A reversal that could take nothing has no awards.
    if (system === undefined || awards.length === 0) continue;
    const about = { pointsSystemId: system.id };
    if (wants('points.changed', about)) {
      const shown = awards.map((award, index) => awardResponse(compiled, record, award, first + index));
      const payload = pointsChanged(compiled, user.json(), { system, before, total, awards: shown });
      yield { type: 'points.changed', no, about, payload };
    }
    const previousLevel = compiled.levelOf(system.id, before);
    const newLevel = compiled.levelOf(system.id, total);
    if (previousLevel?.id !== newLevel?.id && wants('points.level_changed', about)) {
      const payload = levelChanged(user.json(), { system, total, previousLevel, newLevel });
      yield { type: 'points.level_changed', no, about, payload };
    }
  }
}

/** `points.spent` for a spending or a captured hold, `points.refunded` for a refund, `points.expired` for an expiry. */
export function* spendingNotifications({ compiled, record, wants, user }: Change): Generator<Reported> {
  const change = balanceChangeOf(compiled.catalog.tenantNo, record);
  const type = change === null ? undefined : SPENDING_TYPES.get(change.kind);
  const system = compiled.pointsSystemsByNo.get(change?.systemNo ?? 0);
  if (change === null || type === undefined || system === undefined) return;
  const about = { pointsSystemId: system.id };
  if (!wants(type, about)) return;
  const payload =
    type === 'points.expired'
      ? expiryPayload(type, user.json(), system, expiryOf(change))
      : spendingChanged(type, user.json(), system, balanceChangeAnswer(compiled, change));
  yield { type, no: system.no, about, payload };
}

const SPENDING_TYPES: ReadonlyMap<number, 'points.spent' | 'points.refunded' | 'points.expired'> = new Map([
  [BALANCE.spend, 'points.spent'],
  [BALANCE.capture, 'points.spent'],
  [BALANCE.refund, 'points.refunded'],
  [BALANCE.expire, 'points.expired'],
]);

const expiryOf = ({ amount, balance, atMs }: BalanceChangeRow): Expiry => ({
  amount,
  balance,
  date: dateOf(epochDay(atMs)),
});

const triggers = onceACatalog<number, PointsTriggerResponse>();

/** An award as in an event's answer, without a trigger or boost that was deleted since. */
function awardResponse(
  compiled: CompiledCatalog,
  record: HappenedRecord,
  award: RecordedAward,
  ordinal: number,
): PointsAwardResponse {
  const trigger = compiled.triggersByNo.get(award[AWARD.trigger]);
  const boosts = award[AWARD.boosts].flatMap((no) => compiled.boostsByNo.get(no) ?? []);
  return {
    id: uuidText(awardId(record[RECORD.id], ordinal)),
    awarded: award[AWARD.awarded],
    date: isoTime(record[RECORD.atMs]),
    total: award[AWARD.after],
    ...(trigger !== undefined && { trigger: triggers(compiled, trigger.no, () => triggerResponse(compiled, trigger)) }),
    ...(boosts.length > 0 && { boosts: boosts.map((boost) => boostResponse(boost, record[RECORD.day])) }),
  };
}

const NOT_ON_THE_BOARD = -1;

/** `leaderboard.rank_changed` for each board on which the user's rank changed: appears, moves, leaves. */
export function* boardNotifications({ compiled, record, wants, user }: Change): Generator<Reported> {
  for (const recorded of record[RECORD.boards] ?? []) {
    const rank = recorded[RECORDED_BOARD.rank];
    const previousRank = recorded[RECORDED_BOARD.previousRank];
    // On a wide tenant both are unranked if they could not be counted.
    if (rank === previousRank) continue;
    const no = recorded[RECORDED_BOARD.board];
    const board = compiled.leaderboardsByNo.get(no);
    if (board === undefined) continue;
    const about = { leaderboardId: board.id };
    if (!wants('leaderboard.rank_changed', about)) continue;
    const isOn = (place: number): boolean => place !== NOT_ON_THE_BOARD;
    const valueOf = (score: number | null): number | null => (score === null ? null : turned(board, score));
    const change = {
      rank: isOn(rank) ? rank : null,
      value: isOn(rank) ? valueOf(recorded[RECORDED_BOARD.score] ?? recordedScore(user.state(), recorded)) : null,
      previousRank: isOn(previousRank) ? previousRank : null,
      previousValue: isOn(previousRank) ? valueOf(recorded[RECORDED_BOARD.previousScore] ?? null) : null,
    };
    const runDay = recorded[RECORDED_BOARD.runDay];
    const group = recorded[RECORDED_BOARD.group];
    const payload = rankChanged(user.json(), { compiled, board, runDay, group }, change);
    yield { type: 'leaderboard.rank_changed', no, about, place: { boardNo: no, runDay, group }, payload };
  }
}

/** `leaderboard.rewarded` for a final rank. */
export function* rewardNotifications({ compiled, record, wants, user }: Change): Generator<Reported> {
  const reward = rankRewardOf(compiled.catalog.tenantNo, record);
  const board = compiled.leaderboardsByNo.get(reward?.boardNo ?? 0);
  if (reward === null || board === undefined) return;
  const about = { leaderboardId: board.id };
  if (!wants('leaderboard.rewarded', about)) return;
  const { boardNo, runDay, group, rank, score } = reward;
  const status = boardStatus(board, epochDay(record[RECORD.atMs])) ?? 'finished';
  const rewards = rankRewardsOf(compiled, reward, { seesSecrets: true });
  const payload = rankRewarded(
    user.json(),
    { compiled, board, runDay, group },
    { status, rank, value: score, rewards },
  );
  yield { type: 'leaderboard.rewarded', no: boardNo, about, place: { boardNo, runDay, group }, payload };
}

/** `user.merged`, about the user who remains. */
export function mergeNotifications(
  { compiled, wants }: Pick<Change, 'compiled' | 'wants'>,
  { [RECORD.id]: id, [RECORD.atMs]: atMs, [RECORD.merged]: merged }: MergeRecord,
  user: RecordedUser,
): Notification[] {
  const type = 'user.merged';
  if (merged === undefined || !wants(type, {})) return [];
  const { userId } = user;
  const payload = userMerged(user.json(), { from: merged[MERGED.from], into: userId, mergedAt: isoTime(atMs) });
  return [{ type, tenantNo: compiled.catalog.tenantNo, userId, atMs, source: `${id}:0`, about: {}, payload }];
}

/** The user's score after the entry, for a record that lacks it. */
function recordedScore(user: User, recorded: RecordedBoard): number | null {
  const score = scoreIn(user, { board: recorded[RECORDED_BOARD.board], runDay: recorded[RECORDED_BOARD.runDay] });
  return score === undefined ? null : decimalNumber(score);
}

/** A user in the state after an entry. Decoded, and converted for payloads, on first use. */
export class RecordedUser {
  readonly userId: string;
  private readonly packed: Buffer;
  private readonly shown: { compiled: CompiledCatalog; controlShare: number };
  private decoded: User | undefined;
  private text: UserJson | undefined;

  constructor(shown: { compiled: CompiledCatalog; controlShare: number }, userId: string, packed: Buffer) {
    this.shown = shown;
    this.userId = userId;
    this.packed = packed;
  }

  /** Throws the errors of decoding. */
  state(): User {
    return (this.decoded ??= decodeUser(this.packed));
  }

  json(): UserJson {
    const { userId, shown } = this;
    return (this.text ??= userJson(shown.compiled, { userId, state: this.state(), controlShare: shown.controlShare }));
  }
}
