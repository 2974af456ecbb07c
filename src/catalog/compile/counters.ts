import type { Metric } from '../../domain/catalog.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import type { Counter } from '../plan.ts';

/** The achievements and triggers that count matching events of a metric themselves. */
export function countersFor(catalogIndex: CatalogIndex, metric: Metric): Counter[] {
  const achievements = catalogIndex.catalog.achievements.filter((a) => a.status === 'active' && a.trigger === 'metric');
  const triggers = catalogIndex.catalog.triggers.filter((t) => t.status === 'active' && t.type === 'metric');
  return [...achievements, ...triggers]
    .filter((counting) => counting.metricId === metric.id && counting.eventAttributes.length > 0)
    .map(({ no, eventAttributes }) => ({
      no,
      conditions: eventAttributes.map(({ attributeId, attributeValue }): [string, string] => [
        catalogIndex.attributesById.get(attributeId)?.key ?? '',
        attributeValue,
      ]),
    }));
}
