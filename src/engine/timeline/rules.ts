import type { Achievement, PointsTrigger } from '../../domain/catalog.ts';
import type { AttributeCondition } from '../../domain/schemas.ts';
import type { TimelineRule } from '../../domain/timeline.ts';
import type { CatalogThen, ResourceThen } from './catalog-then.ts';

/** The resources that a trigger or achievement names. */
export function referredTo({ doc }: ResourceThen): string[] {
  const { metricId, achievementId, achievementIds, userAttributes, eventAttributes } = doc as Partial<
    PointsTrigger & Achievement
  >;
  const attributes = [...(userAttributes ?? []), ...(eventAttributes ?? [])].map(({ attributeId }) => attributeId);
  return [metricId, achievementId, ...(achievementIds ?? []), ...attributes].filter(
    (id): id is string => id !== null && id !== undefined,
  );
}

/** The rule of a trigger as it was then, by present names; null: what it was is not known. */
export function triggerRule(then: CatalogThen, was: ResourceThen): TimelineRule | null {
  if (!was.known) return null;
  const trigger = was.doc as PointsTrigger;
  return {
    type: trigger.type,
    points: trigger.points,
    ...(trigger.type === 'metric' && {
      metric: then.named(trigger.metricId),
      threshold: trigger.metricThreshold ?? 1,
    }),
    ...(trigger.type === 'streak' && { streakLength: trigger.streakLength ?? 1 }),
    ...(trigger.type === 'achievement' && { achievements: [then.named(trigger.achievementId)] }),
    ...(trigger.type === 'time' && {
      timeUnit: trigger.timeUnit ?? 'days',
      timeInterval: trigger.timeInterval ?? 1,
    }),
    ...conditionsOf(then, trigger),
  };
}

/** The same of an achievement. */
export function achievementRule(then: CatalogThen, was: ResourceThen): TimelineRule | null {
  if (!was.known) return null;
  const achievement = was.doc as Achievement;
  const { trigger: type } = achievement;
  return {
    type,
    ...(type === 'metric' && {
      metric: then.named(achievement.metricId),
      threshold: achievement.metricValue ?? 0,
    }),
    ...(type === 'streak' && { streakLength: achievement.streakLength ?? 1 }),
    ...(type === 'achievement' && { achievements: achievement.achievementIds.map((id) => then.named(id)) }),
    ...(type === 'anniversary' && { anniversaryYears: achievement.anniversaryYears ?? 1 }),
    ...conditionsOf(then, achievement),
  };
}

function conditionsOf(
  then: CatalogThen,
  { userAttributes, eventAttributes }: Partial<Pick<PointsTrigger, 'userAttributes' | 'eventAttributes'>>,
): Pick<TimelineRule, 'userAttributes' | 'eventAttributes'> {
  const pairs = (conditions: readonly AttributeCondition[] = []): { key: string; value: string }[] =>
    conditions.map(({ attributeId, attributeValue }) => {
      const { key, name } = then.named(attributeId);
      return { key: key ?? name, value: attributeValue };
    });
  return { userAttributes: pairs(userAttributes), eventAttributes: pairs(eventAttributes) };
}
