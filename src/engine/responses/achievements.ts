import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { AchievementResponse, UserAchievementResponse } from '../../domain/achievement.ts';
import type { Achievement } from '../../domain/catalog.ts';
import { decimalNumber, ZERO } from '../../domain/decimal.ts';
import { ACHIEVEMENT_RANKS } from '../../domain/fields/rank.ts';
import { additionsOf } from '../../domain/fields/wire.ts';
import { dateOf, isoTimeOrNull } from '../../domain/periods.ts';
import { daysOf, isQuest, periodOf } from '../../domain/repeat.ts';
import { dayIn } from '../../domain/zone.ts';
import { RECORDED_QUEST } from '../../packed/record-fields.ts';
import type { RecordedQuest } from '../../packed/record.ts';
import type { User as UserState } from '../../rules/user.ts';
import { attributePairs, eventAttributeFields } from './attribute-pairs.ts';

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

/** Whether a user must not know more of an achievement than that it exists. */
const isConcealed = (
  { secret, no }: Achievement,
  { completions }: Pick<UserState, 'completions'>,
  { seesSecrets = true }: { seesSecrets?: boolean },
): boolean => secret === true && !seesSecrets && !completions.has(no);

/** An achievement with the time of the user's last completion (`null` for none), and the current period of a repeating one. */
export function userAchievementResponse(
  compiled: CompiledCatalog,
  achievement: Achievement,
  state: Pick<UserState, 'completions' | 'quests' | 'zone'>,
  { nowMs }: { nowMs: number },
): UserAchievementResponse {
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
  as: { nowMs: number; seesSecrets?: boolean },
): string {
  if (isConcealed(achievement, state, as)) return JSON.stringify({ ...concealed(achievement), achievedAt: null });
  const achievedAt = JSON.stringify(isoTimeOrNull(state.completions.get(achievement.no)));
  const quest = isQuest(achievement) ? JSON.stringify(currentQuest(compiled, achievement, state, as.nowMs)) : '{}';
  return `${openAchievementJson(compiled, achievement)},"achievedAt":${achievedAt}${quest === '{}' ? '' : `,${quest.slice(1, -1)}`}}`;
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
