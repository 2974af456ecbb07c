import type { Attribute, Catalog, PointsBoost, PointsTrigger } from '../../domain/catalog.ts';
import type { AttributeCondition, WebhookFilter, WritableBy } from '../../domain/schemas.ts';
import type { Kind } from '../../domain/kinds.ts';

/** Descriptions of everything that refers to a resource, except what is deleted together with it. */
export function referrersOf(kind: Kind, id: string, catalog: Catalog): string[] {
  if (kind === 'attribute') return attributeReferrers(id, catalog);
  if (kind === 'metric') return metricReferrers(id, catalog);
  if (kind === 'achievement') return achievementReferrers(id, catalog);
  if (kind === 'leaderboard') return webhooksFor('leaderboardIds', id, catalog);
  if (kind !== 'points_system') return [];
  return [
    ...catalog.leaderboards.filter(({ pointsSystemId }) => pointsSystemId === id).map(boardName),
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
    ...catalog.leaderboards.filter(({ breakdownAttributes }) => breakdownAttributes.includes(id)).map(boardName),
  ];
}

/** IDs of user attributes in rules, including inactive rules: users' earnings depend on these values. */
function ruledAttributes({ achievements, triggers, boosts, leaderboards }: Catalog): Set<string> {
  const found = new Set<string>();
  for (const { userAttributes } of [...achievements, ...triggers, ...boosts])
    for (const { attributeId } of userAttributes) found.add(attributeId);
  for (const { breakdownAttributes } of leaderboards) for (const id of breakdownAttributes) found.add(id);
  return found;
}

/** Returns the effective `writableBy` of attributes. Reads the catalog once, when it is called. */
export function writersIn(catalog: Catalog): (attribute: Attribute) => WritableBy {
  const ruled = ruledAttributes(catalog);
  return ({ id, writableBy }) => writableBy ?? (ruled.has(id) ? 'server' : 'user');
}

const metricReferrers = (id: string, catalog: Catalog): string[] => [
  ...catalog.achievements.filter(({ metricId }) => metricId === id).map(achievementName),
  ...catalog.triggers.filter(({ metricId }) => metricId === id).map((trigger) => triggerName(trigger, catalog)),
  ...catalog.leaderboards.filter(({ metricId }) => metricId === id).map(boardName),
  ...(catalog.streaks.metrics.some(({ metricId }) => metricId === id) ? ['the streak settings'] : []),
  ...webhooksFor('metricIds', id, catalog),
];

const achievementReferrers = (id: string, catalog: Catalog): string[] => [
  ...catalog.achievements.filter(({ achievementIds }) => achievementIds.includes(id)).map(achievementName),
  ...catalog.triggers.filter(({ achievementId }) => achievementId === id).map((t) => triggerName(t, catalog)),
];

/** Webhooks whose filter names a resource. */
export const webhooksFor = (list: keyof WebhookFilter, id: string, { webhooks }: Catalog): string[] =>
  webhooks.filter(({ filter }) => filter?.[list]?.includes(id)).map(({ name }) => `webhook '${name}'`);

const achievementName = ({ key, name }: { key: string | null; name: string }): string => `achievement '${key ?? name}'`;
const boardName = ({ key }: { key: string }): string => `leaderboard '${key}'`;
// A trigger has neither key nor name.
const triggerName = (trigger: PointsTrigger, catalog: Catalog): string =>
  `${trigger.type} trigger ${trigger.id}${ofSystem(trigger, catalog)}`;

const ofSystem = ({ systemId }: PointsTrigger | PointsBoost, { pointsSystems }: Catalog): string =>
  ` of points system '${pointsSystems.find(({ id }) => id === systemId)?.key ?? systemId}'`;
