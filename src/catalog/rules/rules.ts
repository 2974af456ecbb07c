import type { Attribute, Catalog, Metric } from '../../domain/catalog.ts';
import type { Kind } from '../../domain/kinds.ts';
import type { ResourceOf } from '../resource-fields.ts';
import { achievementProblems } from './achievement.ts';
import { guardProblems } from './guards.ts';
import { leaderboardProblems } from './leaderboard.ts';
import { boostProblems, levelProblems, systemProblems, triggerProblems } from './points.ts';
import { limitProblems } from '../event-work.ts';
import { attributeKeysIn, keysIn } from './lookups.ts';
import { named, ownKey, problem, type Problem } from './problem.ts';
import { webhookProblems, type RuleSettings } from './webhook.ts';

function* attributeProblems(attribute: Attribute, catalog: Catalog): Generator<Problem> {
  const { type, writableBy } = attribute;
  const keys = attributeKeysIn(catalog.attributes);
  yield* named(attribute.name);
  yield* ownKey(attribute, { holders: (key) => keys.get(`${type}:${key}`), noun: `${type} attribute` });
  if (type === 'event' && writableBy !== null) yield problem('writableBy', 'only for attributes of users');
}

function* metricProblems(metric: Metric, catalog: Catalog): Generator<Problem> {
  yield* named(metric.name);
  const keys = keysIn(catalog.metrics);
  yield* ownKey(metric, { holders: (key) => keys.get(key), noun: 'metric' });
  yield* guardProblems(metric.guards);
}

const RULES: {
  [K in Kind]: (resource: ResourceOf[K], catalog: Catalog, settings: RuleSettings) => Iterable<Problem>;
} = {
  attribute: attributeProblems,
  metric: metricProblems,
  achievement: achievementProblems,
  points_system: systemProblems,
  points_level: levelProblems,
  points_trigger: triggerProblems,
  points_boost: boostProblems,
  leaderboard: leaderboardProblems,
  webhook: (webhook, catalog, settings) => webhookProblems(webhook, { catalog, settings }),
};

/** All problems of a resource within its catalog, which must contain it. */
export const problemsOf = <K extends Kind>(
  kind: K,
  resource: ResourceOf[K],
  { catalog, settings, nowMs }: { catalog: Catalog; settings: RuleSettings; nowMs: number },
): Problem[] => [...RULES[kind](resource, catalog, settings), ...limitProblems(kind, resource, { catalog, nowMs })];
