import type { Achievement, Catalog } from '../../src/domain/catalog.ts';
import { addDays, daysBetween, type LocalDate, periodOf, type WeekStart } from './calendar.ts';
import { named } from './conditions.ts';
import { micros, sum } from './decimals.ts';
import { matches, type ModelUser, type RecordedEvent } from './user.ts';

export const isQuest = ({ repeat, startDate, endDate }: Achievement): boolean =>
  repeat !== null || startDate !== null || endDate !== null;

/** The name of the period with a day; null: outside of the season. A week is named after its Monday, on whichever day it begins. */
export function periodNamed(
  { repeat, startDate, endDate }: Achievement,
  day: LocalDate,
  weekStart: WeekStart,
): string | null {
  if (day < (startDate ?? day) || day > (endDate ?? day)) return null;
  if (repeat === null) return 'season';
  if (typeof repeat === 'object') return String(Math.floor(daysBetween(startDate ?? '1970-01-01', day) / repeat.days));
  const first = periodOf(day, repeat, weekStart);
  return repeat === 'weekly' && weekStart === 'sunday' ? addDays(first, 1) : first;
}

const periodOfEvent = (quest: Achievement, { date, weekStart }: RecordedEvent): string | null =>
  periodNamed(quest, date, weekStart);

const counts = (catalog: Catalog, { metricId, eventAttributes }: Achievement, event: RecordedEvent): boolean =>
  event.metricId === metricId && matches(event.attributes, named(catalog, eventAttributes));

/** The sum of a user's events in a period. */
export const sumIn = (catalog: Catalog, user: ModelUser, quest: Achievement, period: string | null): bigint =>
  sum(
    user.events
      .filter((event) => counts(catalog, quest, event) && periodOfEvent(quest, event) === period)
      .map(({ amount }) => amount),
  );

/** The period that the user completes on a local day by the last event, or by completing what the quest requires; null: none. */
export function completedPeriod(catalog: Catalog, user: ModelUser, quest: Achievement, today: string): string | null {
  const current = periodNamed(quest, today, catalog.streaks.weekStart);
  const ofCurrent = (event: RecordedEvent): boolean =>
    counts(catalog, quest, event) && periodOfEvent(quest, event) === current;
  const event = quest.requires.length > 0 ? user.events.findLast(ofCurrent) : user.events.at(-1);
  if (event === undefined || !counts(catalog, quest, event)) return null;
  const period = periodOfEvent(quest, event);
  if (period === null || user.quests.get(quest.id)?.has(period) === true) return null;
  return sumIn(catalog, user, quest, period) >= micros(quest.metricValue!) ? period : null;
}
