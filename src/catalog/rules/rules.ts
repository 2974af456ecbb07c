import type { Attribute, Catalog, Metric } from '../../domain/catalog.ts';
import { decimalNumber, toDecimal } from '../../domain/decimal.ts';
import { MAX_VALUE } from '../../domain/event.ts';
import { FIELDS } from '../../domain/fields/kinds.ts';
import { GUARD_NAMES, type GuardName, type MetricGuards } from '../../domain/guards.ts';
import type { Kind } from '../../domain/kinds.ts';
import { limitProblems } from '../event-work.ts';
import type { ResourceOf } from '../resource-fields.ts';
import { achievementProblems } from './achievement.ts';
import { leaderboardProblems } from './leaderboard.ts';
import { attributeKeysIn, keysIn } from './lookups.ts';
import { boostProblems, levelProblems, systemProblems, triggerProblems } from './points.ts';
import { declaredProblems, ownKey, problem, type Problem } from './problem.ts';
import { type RuleSettings, webhookProblems } from './webhook.ts';

/** Longest interval between events that a guard may require: 400 days, in seconds. */
const MOST_SECONDS = 400 * 86_400;

function* guardProblems(guards: MetricGuards | null): Generator<Problem> {
  if (guards === null) return;
  for (const name of GUARD_NAMES) {
    const limit = guards[name]?.limit;
    if (limit !== undefined) yield* guardsLimitProblems(name, limit);
  }
  const { minValue, maxValue } = guards;
  if (minValue !== undefined && maxValue !== undefined && minValue.limit > maxValue.limit)
    yield problem('guards.minValue.limit', 'must not be above maxValue.limit');
}

function* guardsLimitProblems(name: GuardName, limit: number): Generator<Problem> {
  const field = `guards.${name}.limit`;
  const most = name === 'minSecondsBetween' ? MOST_SECONDS : MAX_VALUE;
  if (name === 'minSecondsBetween' && !(limit > 0)) yield problem(field, 'must be greater than 0');
  // A limit of 0 stops everything, which is a way to close a metric.
  else if (name !== 'minValue' && name !== 'maxValue' && limit < 0) yield problem(field, 'must be at least 0');
  else if (Math.abs(limit) > most) yield problem(field, `must be at most ${most}`);
  else if (decimalNumber(toDecimal(limit)) !== limit) yield problem(field, 'must have at most 6 decimals');
}

function* attributeProblems(attribute: Attribute, catalog: Catalog): Generator<Problem> {
  const { type } = attribute;
  const keys = attributeKeysIn(catalog.attributes);
  yield* ownKey(attribute, { holders: (key) => keys.get(`${type}:${key}`), noun: `${type} attribute` });
}

function* metricProblems(metric: Metric, catalog: Catalog): Generator<Problem> {
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
): Problem[] => [
  ...declaredProblems(FIELDS[kind], resource, catalog),
  ...RULES[kind](resource, catalog, settings),
  ...limitProblems(kind, resource, { catalog, nowMs }),
];
