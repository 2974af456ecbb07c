import { queryOptions } from '@tanstack/react-query';
import { Problem } from './answer.ts';

/** One value of a metric, with its labels. */
export interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** Values of the server's metrics. */
export interface ServerMetrics {
  /** Sums over all labels, by name. */
  values: ReadonlyMap<string, number>;
  samples: ReadonlyMap<string, readonly Sample[]>;
  /** Readings of the backlog: times (epoch seconds) and numbers of waiting entries. */
  backlog: { x: readonly number[]; y: readonly number[] };
}

const LINE = /^(\w+)(?:\{([^}]*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const READ_MS = 2_000;
/** Readings kept of the backlog: two minutes. */
const KEPT = 60;

/** Parses `/metrics` (Prometheus text format) without histograms. */
function parsedMetrics(text: string): Map<string, Sample[]> {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined || name.endsWith('_bucket')) continue;
    const sample = {
      labels: Object.fromEntries([...labels.matchAll(LABEL)].map(([, label, text_]) => [label!, text_!])),
      value: Number(value),
    };
    const known = samples.get(name);
    if (known === undefined) samples.set(name, [sample]);
    else known.push(sample);
  }
  return samples;
}

export const serverMetricsQuery = queryOptions({
  queryKey: ['server-metrics'],
  refetchInterval: READ_MS,
  queryFn: async ({ client, queryKey }): Promise<ServerMetrics> => {
    const response = await fetch('/metrics');
    if (!response.ok) throw new Problem(response.status, 'The metrics cannot be read now.');
    const samples = parsedMetrics(await response.text());
    const values = new Map([...samples].map(([name, all]) => [name, all.reduce((sum, { value }) => sum + value, 0)]));
    const { x, y } = client.getQueryData<ServerMetrics>(queryKey)?.backlog ?? { x: [], y: [] };
    const backlog = {
      x: [...x, Date.now() / 1000].slice(-KEPT),
      y: [...y, values.get('laurel_outbox_entries') ?? 0].slice(-KEPT),
    };
    return { values, samples, backlog };
  },
});

export const readinessQuery = queryOptions({
  queryKey: ['readiness'],
  refetchInterval: READ_MS,
  queryFn: async (): Promise<{
    isReady: boolean;
    text: string;
    degraded: readonly string[];
    notices: readonly string[];
  }> => {
    const response = await fetch('/readyz');
    const {
      status,
      error,
      degraded = [],
      notices = [],
    } = (await response.json()) as {
      status?: string;
      error?: string;
      degraded?: readonly string[];
      notices?: readonly string[];
    };
    return { isReady: response.ok, text: status ?? error ?? String(response.status), degraded, notices };
  },
});
