import { queryOptions } from '@tanstack/react-query';
import { Problem } from './answer.ts';

/** Sums of the server's metrics by name. */
export interface ServerMetrics {
  values: ReadonlyMap<string, number>;
  /** What waited to be stored, as often as it was read: when, epoch seconds, and how many entries. */
  backlog: { x: readonly number[]; y: readonly number[] };
}

const LINE = /^(\w+)(?:\{[^}]*\})? (\S+)/;
const READ_MS = 2_000;
/** Readings kept of the backlog: two minutes. */
const KEPT = 60;

/** What `/metrics` says, in the Prometheus text format; labels are summed up. */
function parsedMetrics(text: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, value] = LINE.exec(line) ?? [];
    if (name !== undefined) values.set(name, (values.get(name) ?? 0) + Number(value));
  }
  return values;
}

export const serverMetricsQuery = queryOptions({
  queryKey: ['server-metrics'],
  refetchInterval: READ_MS,
  queryFn: async ({ client, queryKey }): Promise<ServerMetrics> => {
    const response = await fetch('/metrics');
    if (!response.ok) throw new Problem(response.status, 'The metrics cannot be read now.');
    const values = parsedMetrics(await response.text());
    const { x, y } = client.getQueryData<ServerMetrics>(queryKey)?.backlog ?? { x: [], y: [] };
    const backlog = {
      x: [...x, Date.now() / 1000].slice(-KEPT),
      y: [...y, values.get('laurel_outbox_entries') ?? 0].slice(-KEPT),
    };
    return { values, backlog };
  },
});

export const readinessQuery = queryOptions({
  queryKey: ['readiness'],
  refetchInterval: READ_MS,
  queryFn: async (): Promise<string> => {
    const response = await fetch('/readyz');
    const body = (await response.json()) as { status?: string; error?: string };
    return body.status ?? body.error ?? String(response.status);
  },
});
