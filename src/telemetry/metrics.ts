/** The text format of metrics: series of one process, and the merged families of several. */
import { type Metric, Registry } from 'prom-client';

/** Labels of one series: few values each, never an ID of a user. */
type Labels = Readonly<Record<string, string>>;

/** One measured value as prom-client has it; `metricName` where it is not that of its metric. */
interface Sample {
  metricName?: string;
  labels: Labels;
  value: number;
}

/** A metric with all its values, as it passes between processes. */
export interface Family {
  name: string;
  help: string;
  type: string;
  values: Sample[];
}

/** Seconds; the fastest answers take less than one millisecond, the slowest that are given end with a time-out. */
export const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** What is observed of one combination of labels. */
export class Series {
  readonly labels: Labels;
  private readonly bounds: readonly number[];
  /** Observations between two bounds; the last: above all. */
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

  /** Bucket by bucket, cumulative, then sum and count. */
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

/**
 * A histogram whose series are held by whoever observes, so that no labels are looked up: 0.02 µs an observation, where
 * prom-client's labelled one takes 1.0 to 1.6, also with the child of the labels kept (fastest and median of 9 rounds of a
 * million, Node 20, 2 busy cores).
 */
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

  /** A new series: to be made once for the same labels, and kept. */
  series(labels: Labels = {}): Series {
    const made = new Series(labels, this.bounds);
    this.all.push(made);
    return made;
  }

  /** Has the registry answer with it. */
  register(registry: Registry): void {
    const { name, help, all } = this;
    const get = async () => ({ name, help, type: 'histogram', values: all.flatMap((one) => one.samples(name)) });
    // All that a registry asks of a metric, whatever the declared type says.
    registry.registerMetric({ name, get } as unknown as Metric);
  }
}

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
