import { type Metric, Registry } from 'prom-client';

/** Labels of one series. They have few values each, never user IDs. */
type Labels = Readonly<Record<string, string>>;

/** A value in prom-client's form. `metricName` is set if it differs from the metric's name. */
interface Sample {
  metricName?: string;
  labels: Labels;
  value: number;
}

/** A metric with all its values, as sent between processes. */
export interface Family {
  name: string;
  help: string;
  type: string;
  values: Sample[];
}

/** Seconds. The fastest answers take less than one millisecond; the slowest end with a timeout. */
export const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** The observations for one combination of labels. */
export class Series {
  readonly labels: Labels;
  private readonly bounds: readonly number[];
  /** Number of observations between two bounds; the last one: above all bounds. */
  private readonly counts: Float64Array;
  private sum = 0;

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds } = this;
    let at = 0;
    while (at < bounds.length && value > bounds[at]!) at += 1;
    this.counts[at]! += 1;
    this.sum += value;
  }

  /** Cumulative buckets, then sum and count. */
  samples(name: string): Sample[] {
    const { labels, bounds, counts } = this;
    let count = 0;
    const samples: Sample[] = [];
    for (const [at, observed] of counts.entries()) {
      count += observed;
      const le = at < bounds.length ? String(bounds[at]) : '+Inf';
      samples.push({ metricName: `${name}_bucket`, labels: { ...labels, le }, value: count });
    }
    samples.push({ metricName: `${name}_sum`, labels, value: this.sum });
    samples.push({ metricName: `${name}_count`, labels, value: count });
    return samples;
  }
}

/** A histogram whose callers hold its series, so that no labels are looked up: much cheaper than prom-client's. */
export class Histogram {
  readonly name: string;
  private readonly help: string;
  private readonly bounds: readonly number[];
  private readonly all: Series[] = [];

  constructor({ name, help, bounds }: { name: string; help: string; bounds: readonly number[] }) {
    this.name = name;
    this.help = help;
    this.bounds = bounds;
  }

  /** Creates a series. Call it once per combination of labels and keep the result. */
  series(labels: Labels = {}): Series {
    const series = new Series(labels, this.bounds);
    this.all.push(series);
    return series;
  }

  register(registry: Registry): void {
    const { name, help, all } = this;
    const get = async () => ({ name, help, type: 'histogram', values: all.flatMap((one) => one.samples(name)) });
    // A registry uses only these members of a metric, whatever the declared type says.
    registry.registerMetric({ name, get } as unknown as Metric);
  }
}

/** A registry's metrics, measured now. Omits values that are not numbers, such as those of metrics without observations. */
export async function familiesOf(registry: Registry): Promise<Family[]> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as Family[];
  return metrics.map(({ name, help, type, values }) => {
    const measured = values.filter(({ value }) => Number.isFinite(value));
    return { name, help, type, values: measured };
  });
}

export const labelled = (families: readonly Family[], labels: Labels): Family[] =>
  families.map((family) => ({
    ...family,
    values: family.values.map((value) => ({ ...value, labels: { ...labels, ...value.labels } })),
  }));

/** Several processes' metrics as one text in the Prometheus format: each metric once, with all values. */
export async function metricsText(families: readonly Family[]): Promise<string> {
  const byName = new Map<string, Family>();
  for (const family of families) {
    const values = [...(byName.get(family.name)?.values ?? []), ...family.values];
    byName.set(family.name, { ...family, values });
  }
  const registry = new Registry();
  // A registry uses only these members of a metric, whatever the declared type says.
  for (const whole of byName.values())
    registry.registerMetric({ ...whole, get: async () => whole } as unknown as Metric);
  return registry.metrics();
}
