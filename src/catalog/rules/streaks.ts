import type { Catalog, StreakSettings } from '../../domain/catalog.ts';
import { amount, problem, refers, whole, type Problem } from './problem.ts';

const MOST_FREEZES = 100;
/** Same limit as for a user's own rule. Each event keeps one sum per metric. */
const MOST_METRICS = 100;
const LONGEST_INTERVAL_DAYS = 3_650;

export function* streakProblems(settings: StreakSettings, catalog: Catalog): Generator<Problem> {
  const { frequency, daysOff, metrics, freezes } = settings;
  if (daysOff.length > 0 && frequency !== 'daily') yield problem('daysOff', `only for frequency 'daily'`);
  if (metrics.length > MOST_METRICS) yield problem('metrics', `must have at most ${MOST_METRICS} items`);
  const earlier = new Set<string>();
  for (const [index, { metricId, threshold }] of metrics.entries()) {
    yield* refers(`metrics[${index}].metricId`, metricId, { among: catalog.metrics, noun: 'metric' });
    if (earlier.has(metricId)) yield problem(`metrics[${index}].metricId`, 'named twice');
    earlier.add(metricId);
    yield* amount(`metrics[${index}].threshold`, threshold);
  }
  const { initial, max, autoEarnInterval, autoEarnAmount } = freezes;
  yield* whole('freezes.initial', initial, { min: 0, max: MOST_FREEZES });
  yield* whole('freezes.max', max, { min: 0, max: MOST_FREEZES });
  if (initial > max) yield problem('freezes.initial', 'must not be above freezes.max');
  if (autoEarnInterval !== null) {
    yield* whole('freezes.autoEarnInterval', autoEarnInterval, { min: 1, max: LONGEST_INTERVAL_DAYS });
  }
  if (autoEarnAmount !== null) yield* whole('freezes.autoEarnAmount', autoEarnAmount, { min: 1, max: MOST_FREEZES });
  if ((autoEarnInterval === null) !== (autoEarnAmount === null)) {
    const missing = autoEarnInterval === null ? 'autoEarnInterval' : 'autoEarnAmount';
    yield problem(`freezes.${missing}`, 'autoEarnInterval and autoEarnAmount go together');
  }
}
