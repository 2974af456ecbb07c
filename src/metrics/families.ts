import { Registry, type Metric } from 'prom-client';
import type { Family, Labels } from './series.ts';

/** What a registry holds, measured now. Values that are no numbers, of what nothing was seen yet, are left out. */
export async function familiesOf(registry: Registry): Promise<Family[]> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as Family[];
  return metrics.map(({ name, help, type, values }) => {
    const measured = values.filter(({ value }) => Number.isFinite(value));
    return { name, help, type, values: measured };
  });
}

/** The same with more labels on each value. */
export const labelled = (families: readonly Family[], labels: Labels): Family[] =>
  families.map((family) => ({
    ...family,
    values: family.values.map((value) => ({ ...value, labels: { ...labels, ...value.labels } })),
  }));

/** Those of several processes as one text in the Prometheus format: each metric once, with the values of all. */
export async function metricsText(families: readonly Family[]): Promise<string> {
  const byName = new Map<string, Family>();
  for (const family of families) {
    const values = [...(byName.get(family.name)?.values ?? []), ...family.values];
    byName.set(family.name, { ...family, values });
  }
  const registry = new Registry();
  // All that a registry asks of a metric, whatever the declared type says.
  for (const whole of byName.values())
    registry.registerMetric({ ...whole, get: async () => whole } as unknown as Metric);
  return registry.metrics();
}
