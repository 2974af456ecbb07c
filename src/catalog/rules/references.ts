import {
  type Achievement,
  type Attribute,
  type Catalog,
  type Leaderboard,
  neededBy,
  type PointsBoost,
  type PointsLevel,
  type PointsTrigger,
} from '../../domain/catalog.ts';
import type { Field, Referred } from '../../domain/fields/field.ts';
import { POINTS_TRIGGER } from '../../domain/fields/points.ts';
import type { Kind } from '../../domain/kinds.ts';
import { namesAttribute } from '../../domain/notifications/message-settings.ts';
import type { AttributeCondition, WebhookFilter, WritableBy } from '../../domain/schemas.ts';
import { addTo } from '../../grouped.ts';
import { byId, once } from '../lookups.ts';

// Lookups are memoised per list. Without this, rules would search one list for each member of another.

function countsOf<T>(list: readonly T[], text: (of: T) => string | null): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const one of list) {
    const its = text(one);
    if (its !== null) counts.set(its, (counts.get(its) ?? 0) + 1);
  }
  return counts;
}

export const keysIn = once((list: readonly { key: string | null }[]) => countsOf(list, ({ key }) => key));

/** Number of attributes per type and key, e.g. `user:city`. */
export const attributeKeysIn = once((list: readonly Attribute[]) =>
  countsOf(list, ({ type, key }) => `${type}:${key}`),
);

export const userAttributeKeys = once(
  (list: readonly Attribute[]): ReadonlySet<string> =>
    new Set(list.flatMap(({ type, key }) => (type === 'user' ? [key] : []))),
);

export const unkeyedNamesIn = once((list: readonly Achievement[]) =>
  countsOf(list, ({ key, name }) => (key === null ? name : null)),
);

export const levelsIn = once((list: readonly PointsLevel[]) => ({
  keys: countsOf(list, ({ systemId, key }) => `${systemId}:${key}`),
  points: countsOf(list, ({ systemId, points }) => `${systemId}:${points}`),
}));

/** Achievements that need themselves, directly or indirectly. */
export const endlessIn = once((list: readonly Achievement[]): ReadonlySet<string> => {
  if (!list.some(({ achievementIds, requires }) => achievementIds.length + requires.length > 0)) return new Set();
  const present = byId(list);
  const open = new Map(
    list.map((achievement) => [achievement.id, neededBy(achievement).filter((part) => present.has(part)).length]),
  );
  const partOf = new Map<string, string[]>();
  for (const achievement of list) {
    for (const part of neededBy(achievement)) {
      addTo(partOf, part, achievement.id);
    }
  }
  const ended = list.filter(({ id }) => open.get(id) === 0).map(({ id }) => id);
  for (let id = ended.pop(); id !== undefined; id = ended.pop()) {
    for (const whole of partOf.get(id) ?? []) {
      const left = open.get(whole)! - 1;
      open.set(whole, left);
      if (left === 0) ended.push(whole);
    }
  }
  return new Set([...open].filter(([, left]) => left > 0).map(([id]) => id));
});

/** What the rules of achievements look up. Each takes milliseconds for thousands of them. */
export const ACHIEVEMENT_INDEXES: readonly ((list: readonly Achievement[]) => unknown)[] = [
  byId,
  keysIn,
  unkeyedNamesIn,
  endlessIn,
];

/** Descriptions of everything that refers to a resource, except what is deleted together with it. */
export function referrersOf(kind: Kind, id: string, catalog: Catalog): string[] {
  if (kind === 'attribute') return attributeReferrers(id, catalog);
  if (kind === 'metric') return metricReferrers(id, catalog);
  if (kind === 'achievement') return achievementReferrers(id, catalog);
  if (kind === 'points_level') return levelReferrers(id, catalog);
  if (kind === 'leaderboard')
    return [
      ...catalog.achievements.filter(({ leaderboardId }) => leaderboardId === id).map(achievementName),
      ...triggersNaming('leaderboard', id, catalog),
      ...webhooksFor('leaderboardIds', id, catalog),
    ];
  if (kind !== 'points_system') return [];
  return [
    ...catalog.leaderboards.filter(({ pointsSystemId }) => pointsSystemId === id).map(boardName),
    ...catalog.rewards.filter(({ pointsSystemId }) => pointsSystemId === id).map(({ key }) => `reward '${key}'`),
    ...triggersNaming('points system', id, catalog),
    ...webhooksFor('pointsSystemIds', id, catalog),
  ];
}

function attributeReferrers(id: string, catalog: Catalog): string[] {
  const named = (conditions: AttributeCondition[]): boolean => conditions.some((one) => one.attributeId === id);
  return [
    ...catalog.achievements
      .filter(({ userAttributes, eventAttributes }) => named(userAttributes) || named(eventAttributes))
      .map(achievementName),
    ...catalog.triggers
      .filter(({ userAttributes, eventAttributes }) => named(userAttributes) || named(eventAttributes))
      .map((trigger) => triggerName(trigger, catalog)),
    ...catalog.boosts
      .filter(({ userAttributes }) => named(userAttributes))
      .map((boost) => `boost '${boost.name}'${ofSystem(boost, catalog)}`),
    ...catalog.leaderboards
      .filter((board) => board.secondaryAttributeId === id || attributesOf(board).includes(id))
      .map(boardName),
    ...messageReferrers(id, catalog),
  ];
}

function messageReferrers(id: string, { attributes, messages }: Catalog): string[] {
  const attribute = byId(attributes).get(id);
  return attribute?.type === 'user' && namesAttribute(messages, attribute.key) ? ['the settings of messages'] : [];
}

/** IDs of the user attributes that divide a leaderboard's users. */
const attributesOf = ({ breakdownAttributes, teamAttributeId }: Leaderboard): string[] =>
  teamAttributeId === null ? breakdownAttributes : [...breakdownAttributes, teamAttributeId];

/** IDs of user attributes in rules, including inactive rules: users' earnings depend on these values. */
function ruledAttributes({ achievements, triggers, boosts, leaderboards }: Catalog): Set<string> {
  const attributeIds = new Set<string>();
  for (const { userAttributes } of [...achievements, ...triggers, ...boosts])
    for (const { attributeId } of userAttributes) attributeIds.add(attributeId);
  for (const board of leaderboards) for (const id of attributesOf(board)) attributeIds.add(id);
  return attributeIds;
}

/** Returns the effective `writableBy` of attributes. Reads the catalog once, when it is called. */
export function writersIn(catalog: Catalog): (attribute: Attribute) => WritableBy {
  const ruled = ruledAttributes(catalog);
  return ({ id, writableBy }) => writableBy ?? (ruled.has(id) ? 'server' : 'user');
}

const metricReferrers = (id: string, catalog: Catalog): string[] => [
  ...catalog.achievements.filter(({ metricId }) => metricId === id).map(achievementName),
  ...triggersNaming('metric', id, catalog),
  ...catalog.leaderboards.filter(({ metricId }) => metricId === id).map(boardName),
  ...(catalog.streaks.metrics.some(({ metricId }) => metricId === id) ? ['the streak settings'] : []),
  ...webhooksFor('metricIds', id, catalog),
];

const achievementReferrers = (id: string, catalog: Catalog): string[] => [
  ...catalog.achievements.filter((achievement) => neededBy(achievement).includes(id)).map(achievementName),
  ...triggersNaming('achievement', id, catalog),
];

function levelReferrers(id: string, catalog: Catalog): string[] {
  const level = catalog.levels.find((one) => one.id === id);
  return catalog.triggers
    .filter(({ pointsSystemId, levelKey }) => pointsSystemId === level?.systemId && levelKey === level?.key)
    .map((trigger) => triggerName(trigger, catalog));
}

export const webhooksFor = (list: keyof WebhookFilter, id: string, { webhooks }: Catalog): string[] =>
  webhooks.filter(({ filter }) => filter?.[list]?.includes(id)).map(({ name }) => `webhook '${name}'`);

function triggersNaming(noun: Referred, id: string, catalog: Catalog): string[] {
  const names = Object.entries<Field>(POINTS_TRIGGER).flatMap(([name, one]) => (one.refersTo === noun ? [name] : []));
  const isNamedBy = (trigger: PointsTrigger): boolean =>
    names.some((name) => (trigger as unknown as Record<string, unknown>)[name] === id);
  // A system's own triggers are deleted together with it.
  const others = catalog.triggers.filter(({ systemId }) => systemId !== id);
  return others.filter(isNamedBy).map((trigger) => triggerName(trigger, catalog));
}

const achievementName = ({ key, name }: { key: string | null; name: string }): string => `achievement '${key ?? name}'`;
const boardName = ({ key }: { key: string }): string => `leaderboard '${key}'`;
// A trigger has neither key nor name.
const triggerName = (trigger: PointsTrigger, catalog: Catalog): string =>
  `${trigger.type} trigger ${trigger.id}${ofSystem(trigger, catalog)}`;

const ofSystem = ({ systemId }: PointsTrigger | PointsBoost, { pointsSystems }: Catalog): string =>
  ` of points system '${pointsSystems.find(({ id }) => id === systemId)?.key ?? systemId}'`;
