import type { Catalog } from '../../domain/catalog.ts';
import { toDecimal } from '../../domain/decimal.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import type { PlanStreak } from '../plan.ts';
import { present } from './conditions.ts';

/** Frequencies as the script counts them. */
export const FREQUENCY = { daily: 1, weekly: 2, monthly: 3 } as const;

/** How freezes are earned: every so many days, amount, maximum, since when it is so (epoch ms); null: they are not. */
export function earning({ streaks, earnSince }: Catalog): [number, number, number, number] | null {
  const { enabled, autoEarnInterval, autoEarnAmount, max } = streaks.freezes;
  if (!enabled || autoEarnInterval === null || autoEarnAmount === null) return null;
  return [autoEarnInterval, autoEarnAmount, max, earnSince ?? 0];
}

/** The streak settings as the script takes them. */
export function compileStreak(catalogIndex: CatalogIndex): PlanStreak {
  const settings = catalogIndex.catalog.streaks;
  return present<PlanStreak>({
    on: settings.enabled,
    frequency: FREQUENCY[settings.frequency],
    all: settings.evaluationMode === 'AND',
    metrics: settings.metrics.flatMap(({ metricId, threshold }) => {
      const no = catalogIndex.metricsById.get(metricId)?.no;
      const { whole, micros } = toDecimal(threshold);
      return no === undefined ? [] : [[no, whole, micros] as [number, number, number]];
    }),
    freezes: settings.freezes.enabled ? settings.freezes.initial : 0,
    frozen: settings.freezes.enabled ? true : undefined,
    earn: earning(catalogIndex.catalog) ?? undefined,
    personal: settings.personalization ? catalogIndex.catalog.metrics.map(({ no }) => no) : undefined,
  });
}
