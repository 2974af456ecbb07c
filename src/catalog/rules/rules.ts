import { isDeepStrictEqual } from 'node:util';
import type { Attribute, Catalog, Metric } from '../../domain/catalog.ts';
import { decimalNumber, toDecimal } from '../../domain/decimal.ts';
import { MAX_VALUE } from '../../domain/event.ts';
import { FIELDS } from '../../domain/fields/kinds.ts';
import { GUARD_NAMES, type GuardName, type MetricGuards } from '../../domain/administration/guards.ts';
import type { Kind } from '../../domain/kinds.ts';
import { isQuest } from '../../domain/repeat.ts';
import { boardStatus } from '../../domain/runs.ts';
import { SCORING } from '../draft.ts';
import { limitProblems } from '../event-work.ts';
import type { Fields, ResourceOf } from '../resource-fields.ts';
import { declaredProblems, ownKey, problem, type Problem } from './problem.ts';
import { attributeKeysIn, keysIn } from './references.ts';
import {
  achievementProblems,
  boostProblems,
  leaderboardProblems,
  levelProblems,
  rewardProblems,
  systemProblems,
  triggerProblems,
} from './resource-rules.ts';
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
  reward: rewardProblems,
  webhook: (webhook, catalog, settings) => webhookProblems(webhook, catalog, settings),
};

export const problemsOf = <K extends Kind>(
  kind: K,
  resource: ResourceOf[K],
  { catalog, settings, nowMs }: { catalog: Catalog; settings: RuleSettings; nowMs: number },
): Problem[] => [
  ...declaredProblems(FIELDS[kind], resource, catalog),
  ...RULES[kind](resource, catalog, settings),
  ...limitProblems(kind, resource, catalog, nowMs),
];

interface Edit<K extends Kind> {
  before: ResourceOf[K];
  after: ResourceOf[K];
  sent: Partial<Fields<K>>;
  utcDay: number;
}

function* achievementChanges({ before, after }: Edit<'achievement'>): Generator<Problem> {
  if (before.key !== null && after.key !== before.key) yield problem('key', `cannot be changed: it is '${before.key}'`);
  if (before.trigger === after.trigger && !isDeepStrictEqual(before.repeat, after.repeat))
    yield problem('repeat', 'cannot be changed: create another achievement');
  if (before.trigger === after.trigger && isQuest(before) !== isQuest(after))
    yield problem(
      after.startDate === before.startDate ? 'endDate' : 'startDate',
      'an achievement cannot get its first date, and cannot lose its last one: create another achievement',
    );
  // Periods of days are counted from it.
  if (typeof after.repeat === 'object' && after.repeat !== null && before.startDate !== after.startDate)
    yield problem('startDate', 'cannot be changed for an achievement that repeats every some days');
  if (before.trigger !== after.trigger && before.status !== 'inactive' && after.status !== 'inactive') {
    yield problem('trigger', `can be changed only while the achievement is inactive: set status 'inactive' first`);
  }
}

function* triggerChanges({ before, after }: Edit<'points_trigger'>): Generator<Problem> {
  if (before.type !== after.type && before.status === 'active' && after.status === 'active') {
    yield problem('type', `can be changed only while the trigger is inactive: set status 'inactive' first`);
  }
}

function* boardChanges({ before, after, sent, utcDay }: Edit<'leaderboard'>): Generator<Problem> {
  const was = boardStatus(before, utcDay);
  if (was === 'finished') {
    // Scheduled work may have finished it, regardless of the stored status.
    if (sent.status !== undefined && sent.status !== 'finished')
      yield problem('status', `cannot become '${sent.status}': the leaderboard is finished; create another one`);
    if (after.end !== before.end) yield problem('end', 'cannot be changed: the leaderboard is finished');
  }
  if (was === null || after.status === 'inactive') return;
  for (const field of SCORING) {
    if (isDeepStrictEqual(before[field], after[field])) continue;
    const how = was === 'finished' ? 'it is finished' : `set status 'inactive' first`;
    yield problem(field, `can be changed only while the leaderboard is inactive: ${how}`);
  }
}

function* rewardChanges({ before, after }: Edit<'reward'>): Generator<Problem> {
  if (before.pointsSystemId !== after.pointsSystemId)
    yield problem('pointsSystemId', 'cannot be changed: create another reward');
}

type Rules = { [K in Kind]?: (edit: Edit<K>) => Iterable<Problem> };

const CHANGE_RULES: Rules = {
  achievement: achievementChanges,
  points_trigger: triggerChanges,
  leaderboard: boardChanges,
  reward: rewardChanges,
};

export const changeProblems = <K extends Kind>(kind: K, edit: Edit<K>): Problem[] => [
  ...((CHANGE_RULES as { [X in K]?: Rules[X] })[kind]?.(edit) ?? []),
];
