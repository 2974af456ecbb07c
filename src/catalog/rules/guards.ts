import { decimalNumber, toDecimal } from '../../domain/decimal.ts';
import { MAX_VALUE } from '../../domain/event.ts';
import { GUARD_NAMES, type GuardName, type MetricGuards } from '../../domain/guards.ts';
import { problem, type Problem } from './problem.ts';

/** Longest interval between events that a guard may require: 400 days, in seconds. */
const MOST_SECONDS = 400 * 86_400;

/** Stored form of guards: `null` if there are none. */
export const guardsOrNone = (guards: MetricGuards | null | undefined): MetricGuards | null =>
  guards === null || guards === undefined || Object.keys(guards).length === 0 ? null : guards;

export function* guardProblems(guards: MetricGuards | null): Generator<Problem> {
  if (guards === null) return;
  for (const name of GUARD_NAMES) {
    const limit = guards[name]?.limit;
    if (limit !== undefined) yield* limitProblems(name, limit);
  }
  const { minValue, maxValue } = guards;
  if (minValue !== undefined && maxValue !== undefined && minValue.limit > maxValue.limit)
    yield problem('guards.minValue.limit', 'must not be above maxValue.limit');
}

function* limitProblems(name: GuardName, limit: number): Generator<Problem> {
  const field = `guards.${name}.limit`;
  const most = name === 'minSecondsBetween' ? MOST_SECONDS : MAX_VALUE;
  if (name === 'minSecondsBetween' && !(limit > 0)) yield problem(field, 'must be greater than 0');
  // A limit of 0 stops everything, which is a way to close a metric.
  else if (name !== 'minValue' && name !== 'maxValue' && limit < 0) yield problem(field, 'must be at least 0');
  else if (Math.abs(limit) > most) yield problem(field, `must be at most ${most}`);
  else if (decimalNumber(toDecimal(limit)) !== limit) yield problem(field, 'must have at most 6 decimals');
}
