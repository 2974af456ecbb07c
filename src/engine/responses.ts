/** Converts users, achievements, streaks, points and leaderboards to their wire form. */
import { hash } from 'node:crypto';
import { secondaryAttributeOf } from '../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../catalog/compiled-catalog.ts';
import type { AchievementResponse, UserAchievementResponse } from '../domain/achievement.ts';
import type { ManagedUser } from '../domain/administration/admin.ts';
import type { EventReversal } from '../domain/administration/reversal.ts';
import { signUpDate } from '../domain/anniversary.ts';
import type {
  Achievement,
  Leaderboard,
  PointsBoost,
  PointsLevel,
  PointsSystem,
  PointsTrigger,
} from '../domain/catalog.ts';
import { decimalNumber, ZERO } from '../domain/decimal.ts';
import { POINTS_TRIGGER } from '../domain/fields/points.ts';
import { ACHIEVEMENT_RANKS } from '../domain/fields/rank.ts';
import { additionsOf } from '../domain/fields/wire.ts';
import type { LeaderboardResponse } from '../domain/leaderboard.ts';
import { daysOf, isQuest, periodOf } from '../domain/repeat.ts';
import { dateOf, type Frequency, isoTimeOrNull } from '../domain/periods.ts';
import {
  boostStatus,
  type PointsBoostResponse,
  type PointsLevelResponse,
  type PointsResponse,
  type PointsTriggerResponse,
} from '../domain/points.ts';
import { type AttributeCondition, uuidText } from '../domain/schemas.ts';
import type { SettledStreaks } from '../domain/streaks/settle.ts';
import { type StreakAsLeft, streakDates } from '../domain/streaks/streak.ts';
import { groupValues, type User } from '../domain/user.ts';
import { dayIn } from '../domain/zone.ts';
import {
  COMPLETED,
  RECORD,
  RECORDED_POINTS,
  RECORDED_QUEST,
  RECORDED_STREAK,
  REVERSAL,
  SHORTFALL,
} from '../packed/record-fields.ts';
import type { HappenedRecord, PackedCompletion, RecordedQuest, RecordedStreak } from '../packed/record.ts';
import { decimalOf } from '../packed/state.ts';
import type { User as UserState } from '../rules/user.ts';
import { HIDDEN_BY } from '../packed/user-fields.ts';
import type { StoredEvent, StoredReversal } from '../postgres/corrections/reversals.ts';
import { daysOffAhead, localDayIn, settledStreaks } from '../rules/streaks.ts';

interface ShownUser {
  userId: string;
  state: UserState;
  controlShare: number;
}

/** A user in the Application API. Attributes that were deleted from the catalog are omitted. */
export function userResponse({ attributesByNo }: CompiledCatalog, { userId, state, controlShare }: ShownUser): User {
  const attributes = byNumber(state.attributes).flatMap(([no, value]) => {
    const attribute = attributesByNo.get(no);
    return attribute === undefined ? [] : [[attribute.key, value]];
  });
  return {
    id: userId,
    email: state.email,
    name: state.name,
    tz: state.zone,
    signUpDate: signUpDate(state.signUp),
    deviceTokens: state.deviceTokens === null ? null : (JSON.parse(state.deviceTokens) as string[]),
    subscribeToEmails: !state.unsubscribed,
    attributes: Object.fromEntries(attributes) as Record<string, string>,
    control: isControl(userId, controlShare),
    created: new Date(state.createdMs).toISOString(),
    updated: new Date(state.updatedMs).toISOString(),
  };
}

/** The entries of a table by catalog number, ascending. */
export const byNumber = <T>(table: ReadonlyMap<number, T>): [no: number, value: T][] =>
  [...table].toSorted(([a], [b]) => a - b);

/** Whether a user is in the control group. A hash of the ID decides, so the answer changes only with the share. */
export function isControl(userId: string, controlShare: number): boolean {
  const digits = hash('sha256', `control:${userId}`, 'hex').slice(0, 8);
  return Number.parseInt(digits, 16) / 2 ** 32 < controlShare;
}

export const hidesItself = ({ hidden }: Pick<UserState, 'hidden'>): boolean => (hidden & HIDDEN_BY.user) !== 0;

export const managedUserResponse = (id: string, state: UserState): ManagedUser => ({
  id,
  hidden: (state.hidden & HIDDEN_BY.admin) !== 0,
  hiddenByUser: hidesItself(state),
});

/** Makes something of an achievement once for each version of the catalog. It must not be changed. */
function perAchievement<T>(
  make: (compiled: CompiledCatalog, achievement: Achievement) => T,
): (compiled: CompiledCatalog, achievement: Achievement) => T {
  const catalogs = new WeakMap<CompiledCatalog, Map<Achievement, T>>();
  return (compiled, achievement) => {
    let ofCatalog = catalogs.get(compiled);
    if (ofCatalog === undefined) catalogs.set(compiled, (ofCatalog = new Map()));
    let one = ofCatalog.get(achievement);
    if (one === undefined) ofCatalog.set(achievement, (one = make(compiled, achievement)));
    return one;
  };
}

/** An achievement in the Application API, with the fields of its trigger type only. */
export const achievementResponse = perAchievement<Readonly<AchievementResponse>>(makeAchievementResponse);

/** Its JSON text without the closing brace, so that fields can be appended. */
export const openAchievementJson = perAchievement((compiled, achievement) =>
  JSON.stringify(achievementResponse(compiled, achievement)).slice(0, -1),
);

function makeAchievementResponse(compiled: CompiledCatalog, achievement: Achievement): AchievementResponse {
  const metric = achievement.trigger === 'metric' ? compiled.metricsById.get(achievement.metricId ?? '') : undefined;
  // Those who see the achievement must not learn which secret one it requires.
  const requires = achievement.requires.filter((id) => !compiled.achievementsById.get(id)?.secret);
  return {
    id: achievement.id,
    name: achievement.name,
    trigger: achievement.trigger,
    description: achievement.description,
    badgeUrl: achievement.badgeUrl,
    ...(achievement.key !== null && { key: achievement.key }),
    ...(achievement.trigger === 'streak' && { streakLength: achievement.streakLength ?? 0 }),
    ...(achievement.trigger === 'anniversary' && { anniversaryYears: achievement.anniversaryYears ?? 0 }),
    ...(achievement.trigger === 'achievement' && { achievementIds: achievement.achievementIds }),
    ...(metric !== undefined && {
      metricId: metric.id,
      metricValue: achievement.metricValue ?? 0,
      metricName: metric.name,
      ...eventAttributeFields(compiled, achievement.eventAttributes),
    }),
    ...(achievement.repeat !== null && { repeat: achievement.repeat }),
    ...(achievement.startDate !== null && { startDate: achievement.startDate }),
    ...(achievement.endDate !== null && { endDate: achievement.endDate }),
    ...(requires.length > 0 && { requires }),
    ...(achievement.secret && { secret: true as const }),
    ...additionsOf(ACHIEVEMENT_RANKS, achievement),
    userAttributes: attributePairs(compiled, achievement.userAttributes),
  };
}

export const SECRET_NAME = 'Secret';

/** A secret achievement as those see it who must not know more than that it exists. */
export const concealed = ({ id, trigger }: Achievement): AchievementResponse => ({
  id,
  name: SECRET_NAME,
  trigger,
  description: null,
  badgeUrl: null,
  secret: true,
  userAttributes: [],
});

/** An achievement with the time of the user's last completion (`null` for none), and the current period of a repeating one. */
export function userAchievementResponse(
  compiled: CompiledCatalog,
  achievement: Achievement,
  state: Pick<UserState, 'completions' | 'quests' | 'zone'>,
  { nowMs, seesSecrets = true }: { nowMs: number; seesSecrets?: boolean },
): UserAchievementResponse {
  if (achievement.secret && !seesSecrets && !state.completions.has(achievement.no))
    return { ...concealed(achievement), achievedAt: null };
  return {
    ...achievementResponse(compiled, achievement),
    achievedAt: isoTimeOrNull(state.completions.get(achievement.no)),
    ...currentQuest(compiled, achievement, state, nowMs),
  };
}

/** The JSON text of `userAchievementResponse`, of which most is the same for all users. */
export function userAchievementJson(
  compiled: CompiledCatalog,
  achievement: Achievement,
  state: Pick<UserState, 'completions' | 'quests' | 'zone'>,
  nowMs: number,
): string {
  const achievedAt = JSON.stringify(isoTimeOrNull(state.completions.get(achievement.no)));
  const quest = JSON.stringify(currentQuest(compiled, achievement, state, nowMs)).slice(1, -1);
  const questFields = quest === '' ? '' : `,${quest}`;
  return `${openAchievementJson(compiled, achievement)},"achievedAt":${achievedAt}${questFields}}`;
}

type QuestFields = Pick<UserAchievementResponse, 'timesCompleted' | 'period'>;

/** The fields of a quest in the user's current period; without a period outside of its season; none for others. */
export function currentQuest(
  compiled: CompiledCatalog,
  achievement: Achievement,
  { quests, zone }: Pick<UserState, 'quests' | 'zone'>,
  nowMs: number,
): QuestFields {
  if (!isQuest(achievement)) return {};
  const period = periodOf(achievement, dayIn(zone, nowMs), compiled.catalog.streaks.weekStart);
  const { times = 0, periods = [] } = quests.get(achievement.no) ?? {};
  const { done, ...sum } = periods.find((each) => each.period === period) ?? { ...ZERO, done: false };
  return questFields(compiled, achievement, { times, period, value: decimalNumber(sum), done });
}

/** The fields of a quest that depend on the user. `value`: the period's sum. */
function questFields(
  { catalog }: CompiledCatalog,
  quest: Achievement,
  { times, period, value, done }: { times: number; period: number | null; value: number; done: boolean },
): QuestFields {
  const counted = quest.repeat === null ? {} : { timesCompleted: times };
  if (period === null) return counted;
  const { fromDay, toDay } = daysOf(quest, period, catalog.streaks.weekStart);
  const [isOpen, isEndless] = [
    quest.repeat === null && quest.startDate === null,
    quest.repeat === null && quest.endDate === null,
  ];
  const start = isOpen ? null : dateOf(fromDay);
  const end = isEndless ? null : dateOf(toDay);
  return { ...counted, period: { start, end, progress: value, completed: done } };
}

/** The same fields from a record; none of achievements that are no quests. */
export function recordedQuest(
  compiled: CompiledCatalog,
  achievement: Achievement,
  quest: RecordedQuest | null,
): QuestFields {
  if (quest === null || !isQuest(achievement)) return {};
  return questFields(compiled, achievement, {
    times: quest[RECORDED_QUEST.times],
    period: quest[RECORDED_QUEST.period],
    value: decimalNumber({ whole: quest[RECORDED_QUEST.whole], micros: quest[RECORDED_QUEST.micros] }),
    done: quest[RECORDED_QUEST.completed] > 0,
  });
}

/** Whether a user sees an achievement: it is active, or it is locked and the user has completed it. */
export const showsTo = ({ status, no }: Achievement, state: Pick<UserState, 'completions'>): boolean =>
  status === 'active' || (status === 'locked' && state.completions.has(no));

/** The fields that every response with a streak has. */
export interface BaseStreak extends ReturnType<typeof streakDates> {
  length: number;
  frequency: Frequency;
  freezes?: number;
  maxFreezes?: number;
  freezeAutoEarnInterval?: number;
  freezeAutoEarnAmount?: number;
}

/** A settled streak on a local day, with freezes if the tenant uses them. `offDays`: see `streakDates`. */
export function baseStreak(
  compiled: CompiledCatalog,
  { streak, freezesLeft, day, offDays }: { streak: StreakAsLeft; freezesLeft: number; day: number; offDays: number },
): BaseStreak {
  const { frequency, weekStart, freezes } = compiled.catalog.streaks;
  return {
    length: streak.length,
    frequency,
    ...streakDates(streak, { day, frequency, weekStart, offDays }),
    ...(freezes.enabled && {
      freezes: freezesLeft,
      maxFreezes: freezes.max,
      ...(freezes.autoEarnInterval !== null && { freezeAutoEarnInterval: freezes.autoEarnInterval }),
      ...(freezes.autoEarnAmount !== null && { freezeAutoEarnAmount: freezes.autoEarnAmount }),
    }),
  };
}

/** The streak in a record, on the record's local day. */
export function recordedStreak(compiled: CompiledCatalog, recorded: RecordedStreak, day: number): BaseStreak {
  const startDay = recorded[RECORDED_STREAK.startDay];
  const streak = {
    length: recorded[RECORDED_STREAK.length],
    startDay: startDay === -1 ? null : startDay,
    lastPeriod: recorded[RECORDED_STREAK.lastPeriod],
  };
  const freezesLeft = recorded[RECORDED_STREAK.freezes];
  return baseStreak(compiled, { streak, freezesLeft, day, offDays: recorded[RECORDED_STREAK.offDays] ?? 0 });
}

/** Settles a user's streaks up to now. `offDays`: consecutive days off after the day by which the user must act. */
export function settledNow(
  { catalog, streakRule }: CompiledCatalog,
  state: Parameters<typeof settledStreaks>[0] & { zone: string | null },
  nowMs: number,
): SettledStreaks & { day: number; offDays: number } {
  const dayAt = (ms: number): number => dayIn(state.zone, ms);
  const day = dayAt(nowMs);
  const settled = settledStreaks(state, streakRule, localDayIn(day, catalog.streaks.weekStart), dayAt);
  const { streaks } = settled;
  return { ...settled, day, offDays: daysOffAhead({ streaks, daysOff: state.daysOff }, streakRule, day, dayAt) };
}

export const pointsResponse = (system: PointsSystem): PointsResponse => ({
  id: system.id,
  key: system.key,
  name: system.name,
  description: system.description,
  badgeUrl: system.badgeUrl,
  maxPoints: system.maxPoints,
});

export const levelResponse = (level: PointsLevel): PointsLevelResponse => ({
  id: level.id,
  key: level.key,
  name: level.name,
  description: level.description,
  badgeUrl: level.badgeUrl,
  points: level.points,
});

export function boostResponse(boost: PointsBoost, day: number): PointsBoostResponse {
  return {
    id: boost.id,
    name: boost.name,
    status: boostStatus(boost, day),
    start: boost.start,
    end: boost.end,
    multiplier: boost.multiplier,
    rounding: boost.rounding,
  };
}

/** A trigger in the Application API, with the fields of its type only. */
export function triggerResponse(
  compiled: CompiledCatalog,
  trigger: PointsTrigger,
  { seesSecrets = true }: { seesSecrets?: boolean } = {},
): PointsTriggerResponse {
  const metric = compiled.metricsById.get(trigger.metricId ?? '');
  const achievement = compiled.achievementsById.get(trigger.achievementId ?? '');
  return {
    id: trigger.id,
    type: trigger.type,
    points: trigger.points,
    status: trigger.status,
    ...(trigger.type === 'metric' && {
      ...(metric !== undefined && { metricId: metric.id, metricName: metric.name }),
      metricThreshold: trigger.metricThreshold ?? 1,
      ...eventAttributeFields(compiled, trigger.eventAttributes),
    }),
    ...(trigger.type === 'streak' && { streakLengthThreshold: trigger.streakLength ?? 1 }),
    ...(achievement !== undefined && {
      achievementId: achievement.id,
      achievementName: achievement.secret && !seesSecrets ? SECRET_NAME : achievement.name,
    }),
    ...(trigger.type === 'time' && {
      timeUnit: trigger.timeUnit === 'hours' ? ('hour' as const) : ('day' as const),
      timeInterval: trigger.timeInterval ?? 1,
    }),
    ...additionsOf(POINTS_TRIGGER, trigger),
    userAttributes: attributePairs(compiled, trigger.userAttributes),
    created: new Date(trigger.created).toISOString(),
    updated: new Date(trigger.updated).toISOString(),
  };
}

/** Keys of a board's breakdown attributes, in the board's order. */
export const breakdownKeys = (compiled: CompiledCatalog, board: Leaderboard): string[] =>
  board.breakdownAttributes.map((id) => compiled.attributesById.get(id)?.key ?? '');

/** The values that make up a group of a board, by the key of the attribute; empty without a breakdown. */
export function groupAttributes(compiled: CompiledCatalog, board: Leaderboard, group: string): Record<string, string> {
  const values = groupValues(group);
  return Object.fromEntries(breakdownKeys(compiled, board).map((key, at) => [key, values[at] ?? '']));
}

/** The fields that name a group of a board, in the order of the board's attributes; empty without a breakdown. */
export function groupFields(
  compiled: CompiledCatalog,
  board: Leaderboard,
  group: string,
): { breakdownAttributeValue?: string; breakdownAttributeValues?: { key: string; value: string }[] } {
  if (group === '') return {};
  const keys = breakdownKeys(compiled, board);
  const pairs = groupValues(group).map((value, index) => ({ key: keys[index] ?? '', value }));
  return { breakdownAttributeValue: pairs[0]?.value ?? '', breakdownAttributeValues: pairs };
}

export function leaderboardResponse(compiled: CompiledCatalog, board: Leaderboard): LeaderboardResponse {
  const metric = board.rankBy === 'metric' ? compiled.metricsById.get(board.metricId ?? '') : undefined;
  const system = board.rankBy === 'points' ? compiled.pointsSystemsById.get(board.pointsSystemId ?? '') : undefined;
  const keys = breakdownKeys(compiled, board);
  const secondary = secondaryAttributeOf(compiled, board);
  const foldedBy = board.aggregate ?? 'sum';
  return {
    id: board.id,
    name: board.name,
    key: board.key,
    rankBy: board.rankBy,
    ...(foldedBy !== 'sum' && { aggregate: foldedBy }),
    ...(board.order === 'ascending' && { order: board.order }),
    ...(board.ties === 'first' && { ties: board.ties }),
    ...(secondary !== null && { secondaryAttributeKey: secondary.key, secondaryOrder: secondary.order }),
    breakdownAttribute: keys[0] ?? null,
    breakdownAttributes: keys,
    ...(metric !== undefined && { metricKey: metric.key, metricName: metric.name }),
    ...(system !== undefined && { pointsSystemKey: system.key, pointsSystemName: system.name }),
    description: board.description,
    start: board.start,
    end: board.end,
    startTime: board.startTime,
    endTime: board.endTime,
    maxParticipants: board.maxParticipants,
    runUnit: board.runUnit,
    runInterval: board.runInterval,
  };
}

const attributePairs = (
  compiled: CompiledCatalog,
  conditions: AttributeCondition[],
): { key: string; value: string }[] =>
  conditions.map(({ attributeId, attributeValue }) => ({
    key: compiled.attributesById.get(attributeId)?.key ?? '',
    value: attributeValue,
  }));

/** `eventAttributes`, and the deprecated `eventAttribute` if exactly one is set. */
function eventAttributeFields(
  compiled: CompiledCatalog,
  conditions: AttributeCondition[],
): {
  eventAttribute?: { key: string; value: string };
  eventAttributes: { key: string; value: string }[];
} {
  const pairs = attributePairs(compiled, conditions);
  return pairs.length === 1 ? { eventAttribute: pairs[0]!, eventAttributes: pairs } : { eventAttributes: pairs };
}

export function reversalAnswer(
  compiled: CompiledCatalog,
  record: HappenedRecord,
  { dryRun, finalRuns }: Pick<EventReversal, 'dryRun' | 'finalRuns'>,
): EventReversal {
  const reversal = record[RECORD.reversal]!;
  const metric = compiled.metricsByNo.get(record[RECORD.metric]!);
  // Lua's MessagePack encodes an empty table as a map.
  const shortfalls = new Map(
    Object.values(reversal[REVERSAL.shortfalls]).map((each) => [each[SHORTFALL.system], each[SHORTFALL.points]]),
  );
  const points = (record[RECORD.points] ?? []).flatMap((changed) => {
    const no = changed[RECORDED_POINTS.system];
    const system = compiled.catalog.pointsSystems.find((each) => each.no === no);
    const total = changed[RECORDED_POINTS.after];
    if (system === undefined) return [];
    return [
      {
        key: system.key,
        total,
        changed: total - changed[RECORDED_POINTS.before],
        shortfall: shortfalls.get(no) ?? 0,
      },
    ];
  });
  return {
    status: reversal[REVERSAL.voids] === 1 ? 'reversed' : 'restored',
    dryRun,
    eventId: uuidText(reversal[REVERSAL.root]),
    reversalId: dryRun ? null : uuidText(record[RECORD.id]),
    userId: record[RECORD.userId],
    metricKey: metric?.key ?? null,
    value: decimalNumber(decimalOf(record[RECORD.value]!)),
    total: decimalNumber(decimalOf(record[RECORD.total]!)),
    streak: record[RECORD.streak]![RECORDED_STREAK.length],
    points,
    revokedAchievements: achievementKeys(compiled, reversal[REVERSAL.revoked]),
    restoredAchievements: achievementKeys(compiled, reversal[REVERSAL.restored]),
    finalRuns,
  };
}

export function unchangedReversal(
  compiled: CompiledCatalog,
  { root, last, dryRun }: { root: StoredEvent; last: StoredReversal; dryRun: boolean },
): EventReversal {
  const value = Number(root.value);
  return {
    status: 'unchanged',
    dryRun,
    eventId: uuidText(root.id),
    reversalId: uuidText(last.id),
    userId: root.userId,
    metricKey: compiled.metricsByNo.get(root.metricNo)?.key ?? null,
    value: last.inForce ? 0 - value : value,
    total: null,
    streak: null,
    points: [],
    revokedAchievements: [],
    restoredAchievements: [],
    finalRuns: [],
  };
}

const achievementKeys = (compiled: CompiledCatalog, completions: readonly PackedCompletion[]): string[] =>
  Object.values(completions).flatMap((each) => {
    const achievement = compiled.achievementsByNo.get(each[COMPLETED.achievement]);
    return achievement === undefined ? [] : [achievement.key ?? achievement.id];
  });
