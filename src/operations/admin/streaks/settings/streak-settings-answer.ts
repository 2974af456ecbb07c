import type { Catalog } from '../../../../domain/catalog.ts';
import type { StreakSettingsAnswer } from '../../../../domain/streak-settings.ts';

/** The streak settings as they are answered. Freezes of which nobody can hold any are none: `null`. */
export function streakSettingsAnswer({ streaks, metrics }: Pick<Catalog, 'streaks' | 'metrics'>): StreakSettingsAnswer {
  const { enabled, frequency, weekStart, evaluationMode, personalization, daysOff, freezes } = streaks;
  const keys = new Map(metrics.map(({ id, key }) => [id, key]));
  return {
    enabled,
    frequency,
    weekStart,
    evaluationMode,
    customizationEnabled: personalization,
    personalization,
    daysOff,
    metrics: streaks.metrics.map(({ metricId, threshold }) => ({ key: keys.get(metricId)!, metricId, threshold })),
    freezes:
      freezes.enabled && freezes.max > 0 ? { ...freezes, startCount: freezes.initial, maxCount: freezes.max } : null,
  };
}
