import { toDecimal } from '../../domain/decimal.ts';
import type { CompiledCatalog } from '../compiled-catalog.ts';
import type { PlanStreak } from '../plan.ts';
import { present } from './conditions.ts';

/** Frequencies as the script counts them. */
export const FREQUENCY = { daily: 1, weekly: 2, monthly: 3 } as const;

/** The streak settings as the script takes them. */
export function compileStreak(compiled: CompiledCatalog): PlanStreak {
  const settings = compiled.catalog.streaks;
  return present<PlanStreak>({
    on: settings.enabled,
    frequency: FREQUENCY[settings.frequency],
    all: settings.evaluationMode === 'AND',
    metrics: settings.metrics.flatMap(({ metricId, threshold }) => {
      const no = compiled.metricsById.get(metricId)?.no;
      const { whole, micros } = toDecimal(threshold);
      return no === undefined ? [] : [[no, whole, micros] as [number, number, number]];
    }),
    freezes: settings.freezes.enabled ? settings.freezes.initial : 0,
    personal: settings.personalization ? compiled.catalog.metrics.map(({ no }) => no) : undefined,
  });
}
