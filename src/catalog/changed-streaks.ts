import type { Catalog, StreakSettings } from '../domain/catalog.ts';
import type { StreakSettingsChanges } from '../domain/streak-settings.ts';
import { problem, type Problem } from './rules/problem.ts';

/** Days off after a change of streak settings, ascending: those in the request or else the current ones, cleared unless the frequency is `daily`. */
export function daysOffAfter(
  current: StreakSettings,
  frequency: StreakSettings['frequency'],
  sent: readonly number[] | undefined,
): number[] {
  if (sent !== undefined) return [...sent].sort((a, b) => a - b);
  return frequency === 'daily' ? current.daysOff : [];
}

type Freezes = StreakSettings['freezes'];

/**
 * Merges a request into a catalog's streak settings, and reports contradictions: two names of a setting with different values, an unknown key. Unknown
 * fields are ignored.
 */
export function changedStreaks(
  { streaks: current, metrics }: Pick<Catalog, 'streaks' | 'metrics'>,
  changes: StreakSettingsChanges,
): { settings: StreakSettings; problems: Problem[] } {
  const problems: Problem[] = [];
  const frequency = changes.frequency ?? current.frequency;
  const personalization = eitherName(changes, ['customizationEnabled', 'personalization'], { at: '', problems });
  const settings = {
    enabled: changes.enabled ?? current.enabled,
    frequency,
    weekStart: changes.weekStart ?? current.weekStart,
    evaluationMode: changes.evaluationMode ?? current.evaluationMode,
    daysOff: daysOffAfter(current, frequency, changes.daysOff),
    metrics: changes.metrics === undefined ? current.metrics : countedMetrics(changes.metrics, metrics, problems),
    freezes: changedFreezes(current.freezes, changes.freezes, problems),
    personalization: personalization ?? current.personalization,
  };
  return { settings, problems };
}

/** The value of a setting that has two names; a problem if both are sent and differ. */
function eitherName<T extends object, N extends keyof T & string>(
  sent: T,
  [name, earlier]: [N, N],
  { at, problems }: { at: string; problems: Problem[] },
): T[N] | undefined {
  const values = [sent[name], sent[earlier]].filter((value) => value !== undefined);
  if (values.length === 2 && values[0] !== values[1])
    problems.push(problem(`${at}${name}`, `differs from ${at}${earlier}, an earlier name of the same setting`));
  return values[0];
}

function countedMetrics(
  sent: NonNullable<StreakSettingsChanges['metrics']>,
  metrics: Catalog['metrics'],
  problems: Problem[],
): StreakSettings['metrics'] {
  return sent.flatMap(({ key, metricId, threshold }, index) => {
    const at = `metrics[${index}]`;
    const byKey = key === undefined ? undefined : metrics.find((metric) => metric.key === key);
    const id = metricId?.toLowerCase();
    if (key === undefined && id === undefined) problems.push(problem(`${at}.key`, 'required'));
    else if (key !== undefined && byKey === undefined) problems.push(problem(`${at}.key`, `unknown metric '${key}'`));
    else if (byKey !== undefined && id !== undefined && byKey.id !== id)
      problems.push(problem(`${at}.key`, `names another metric than ${at}.metricId`));
    const found = byKey?.id ?? id;
    return found === undefined ? [] : [{ metricId: found, threshold }];
  });
}

/** With `startCount` and `maxCount`, replaces all freeze settings; with the earlier names alone, sets them one by one. */
function changedFreezes(current: Freezes, sent: StreakSettingsChanges['freezes'], problems: Problem[]): Freezes {
  if (sent === undefined) return current;
  if (sent === null) return { ...current, enabled: false };
  const names = { at: 'freezes.', problems };
  const initial = eitherName(sent, ['startCount', 'initial'], names);
  const max = eitherName(sent, ['maxCount', 'max'], names);
  if (sent.startCount === undefined && sent.maxCount === undefined)
    return {
      enabled: sent.enabled ?? current.enabled,
      initial: initial ?? current.initial,
      max: max ?? current.max,
      // `null` is a value: users earn no freezes.
      autoEarnInterval: sent.autoEarnInterval === undefined ? current.autoEarnInterval : sent.autoEarnInterval,
      autoEarnAmount: sent.autoEarnAmount === undefined ? current.autoEarnAmount : sent.autoEarnAmount,
    };
  if (initial === undefined) problems.push(problem('freezes.startCount', 'goes with freezes.maxCount'));
  if (max === undefined) problems.push(problem('freezes.maxCount', 'goes with freezes.startCount'));
  return {
    enabled: sent.enabled ?? true,
    initial: initial ?? current.initial,
    max: max ?? current.max,
    autoEarnInterval: sent.autoEarnInterval ?? null,
    autoEarnAmount: sent.autoEarnAmount ?? null,
  };
}
