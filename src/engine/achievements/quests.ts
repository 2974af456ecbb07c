/** Periods of repeating achievements, from history. `src/rules/quests.ts` has the rule for events. */
import type { PoolClient } from 'pg';
import type { CatalogIndex } from '../../catalog/catalog-index.ts';
import { questsOf } from '../../catalog/compile/achievements.ts';
import type { Achievement } from '../../domain/catalog.ts';
import { clamped, decimalOfMicros, toMicros } from '../../domain/decimal.ts';
import type { Days } from '../../domain/periods.ts';
import { daysOf, longestPeriod, periodOf, seasonOf } from '../../domain/repeat.ts';
import { QUEST_PERIODS } from '../../packed/user-fields.ts';
import { completedPeriods, daySums } from '../../postgres/quests.ts';
import { countedUsers } from '../../postgres/users/selections.ts';
import type { LateQuestPeriod } from '../../rules/quests.ts';
import type { QuestPeriod, User } from '../../rules/user.ts';

/** Whether an event's attributes (by key) meet an achievement's conditions. */
export const matches = (
  { attributesById }: CatalogIndex,
  { eventAttributes }: Pick<Achievement, 'eventAttributes'>,
  attributes: Readonly<Record<string, string>> | null,
): boolean =>
  eventAttributes.every(({ attributeId, attributeValue }) => {
    const key = attributesById.get(attributeId)?.key;
    return key !== undefined && attributes?.[key] === attributeValue;
  });

const conditionsOf = (
  { attributesById }: CatalogIndex,
  { eventAttributes }: Achievement,
): Record<string, string> | null =>
  eventAttributes.length === 0
    ? null
    : Object.fromEntries(
        eventAttributes.map(({ attributeId, attributeValue }) => [
          attributesById.get(attributeId)?.key ?? '',
          attributeValue,
        ]),
      );

/** Users with the sums of their events that meet an achievement's conditions on event attributes. */
export const matchingSums = (
  client: PoolClient,
  catalogIndex: CatalogIndex,
  achievement: Achievement,
  ids: readonly string[],
): ReturnType<typeof countedUsers> =>
  countedUsers(client, {
    tenantNo: catalogIndex.catalog.tenantNo,
    ids,
    metricNo: catalogIndex.metricsById.get(achievement.metricId ?? '')?.no ?? 0,
    attributes: conditionsOf(catalogIndex, achievement) ?? {},
  });

/** Sums of the latest periods with events, in millionths, by user and period. With `days`, only of periods within them. */
export async function periodSums(
  client: PoolClient,
  catalogIndex: CatalogIndex,
  { quest, ids, days }: { quest: Achievement; ids: readonly string[]; days?: Days },
): Promise<Map<string, Map<number, bigint>>> {
  const { tenantNo, streaks } = catalogIndex.catalog;
  const rows = await daySums(client, {
    tenantNo,
    ids,
    metricNo: catalogIndex.metricsById.get(quest.metricId ?? '')?.no ?? 0,
    attributes: conditionsOf(catalogIndex, quest),
    most: longestPeriod(quest) * QUEST_PERIODS.most,
    days: days ?? seasonOf(quest),
  });
  const sums = new Map<string, Map<number, bigint>>();
  for (const { userId, day, sum } of rows) {
    const own = sums.get(userId) ?? new Map<number, bigint>();
    sums.set(userId, own);
    const period = periodOf(quest, day, streaks.weekStart);
    if (period === null) continue;
    own.set(period, (own.get(period) ?? 0n) + toMicros(sum));
  }
  return sums;
}

/** Some users' latest periods of a quest, in the form of states (QUEST_PERIODS). Users without events have none. */
export async function latestPeriods(
  client: PoolClient,
  catalogIndex: CatalogIndex,
  quest: Achievement,
  ids: readonly string[],
): Promise<Map<string, QuestPeriod[]>> {
  const { tenantNo } = catalogIndex.catalog;
  const sums = await periodSums(client, catalogIndex, { quest, ids });
  const completed = await completedPeriods(client, tenantNo, ids, [quest.no]);
  const completions = new Set(completed.map(({ userId, period }) => `${period} ${userId}`));
  return new Map(
    ids.map((id) => [
      id,
      latestOf(sums.get(id) ?? new Map<number, bigint>(), (period) => completions.has(`${period} ${id}`)),
    ]),
  );
}

/** The periods that a state keeps, of all sums in millionths. */
export const latestOf = (sums: ReadonlyMap<number, bigint>, isDone: (period: number) => boolean): QuestPeriod[] =>
  [...sums]
    .toSorted(([a], [b]) => b - a)
    .slice(0, QUEST_PERIODS.most)
    .map(([period, sum]) => ({ period, ...clamped(decimalOfMicros(sum)), done: isDone(period) }));

/** The periods in which an event of a day (epoch day) counts, by number of the quest. */
export const periodsOfDay = (catalogIndex: CatalogIndex, metricNo: number, day: number): Map<Achievement, number> => {
  const metric = catalogIndex.metricsByNo.get(metricNo);
  const { weekStart } = catalogIndex.catalog.streaks;
  const quests = metric === undefined ? [] : questsOf(catalogIndex, metric);
  return new Map(
    quests.flatMap((quest) => {
      const period = periodOf(quest, day, weekStart);
      return period === null ? [] : [[quest, period] as const];
    }),
  );
};

/** The same with the sums that the user's state does not keep. `state`: `null` for a new user. */
export async function lateQuests(
  client: PoolClient,
  catalogIndex: CatalogIndex,
  { userId, user, periods }: { userId: string; user: User | null; periods: ReadonlyMap<Achievement, number> },
): Promise<Record<number, LateQuestPeriod>> {
  const { tenantNo, streaks } = catalogIndex.catalog;
  const late: Record<number, LateQuestPeriod> = {};
  for (const [quest, period] of periods) {
    late[quest.no] = { period };
    const kept = user?.quests.get(quest.no)?.periods ?? [];
    if (kept.length < QUEST_PERIODS.most || kept.some((each) => each.period <= period)) continue;
    const days = daysOf(quest, period, streaks.weekStart);
    const sums = await periodSums(client, catalogIndex, { quest, ids: [userId], days });
    const completed = await completedPeriods(client, tenantNo, [userId], [quest.no]);
    const { whole, micros } = clamped(decimalOfMicros(sums.get(userId)?.get(period) ?? 0n));
    late[quest.no] = { period, whole, micros, done: Number(completed.some((each) => each.period === period)) };
  }
  return late;
}
