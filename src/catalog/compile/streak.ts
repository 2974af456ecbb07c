import type { StreaksInForce } from '../../domain/catalog.ts';
import { periodStart, weekdaySet } from '../../domain/periods.ts';
import { toDecimal } from '../../domain/decimal.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import type { PlanSettling, PlanStreak } from '../../rules/plan.ts';
import { present } from './parts.ts';

/** Frequencies as plans number them. */
export const FREQUENCY = { daily: 1, weekly: 2, monthly: 3 } as const;

/** How freezes are earned: interval in days, amount, maximum, and since when (epoch ms); `null` if they are not. */
export function earning({ streaks, earnSince }: StreaksInForce): [number, number, number, number] | null {
  const { enabled, autoEarnInterval, autoEarnAmount, max } = streaks.freezes;
  if (!enabled || autoEarnInterval === null || autoEarnAmount === null) return null;
  return [autoEarnInterval, autoEarnAmount, max, earnSince ?? 0];
}

function settling(inForce: StreaksInForce): PlanSettling {
  const { frequency, freezes, daysOff, personalization } = inForce.streaks;
  return {
    frequency: FREQUENCY[frequency],
    frozen: freezes.enabled ? true : undefined,
    earn: earning(inForce) ?? undefined,
    ...(frequency === 'daily' && {
      off: daysOff.length > 0 ? weekdaySet(daysOff) : undefined,
      own: personalization ? true : undefined,
    }),
  };
}

export function compileStreak(catalogIndex: CatalogIndex): PlanStreak {
  const settings = catalogIndex.catalog.streaks;
  const before = (catalogIndex.catalog.streaksBefore ?? []).map((earlier) => ({
    ...settling(earlier),
    ends: earlier.untilMs,
    week: periodStart(0, 'weekly', earlier.streaks.weekStart),
  }));
  return present<PlanStreak>({
    on: settings.enabled,
    ...settling(catalogIndex.catalog),
    all: settings.evaluationMode === 'AND',
    metrics: settings.metrics.flatMap(({ metricId, threshold }) => {
      const no = catalogIndex.metricsById.get(metricId)?.no;
      const { whole, micros } = toDecimal(threshold);
      return no === undefined ? [] : [[no, whole, micros] as [number, number, number]];
    }),
    freezes: settings.freezes.enabled ? settings.freezes.initial : 0,
    before: before.length === 0 ? undefined : before,
    personal: settings.personalization ? catalogIndex.catalog.metrics.map(({ no }) => no) : undefined,
  });
}
