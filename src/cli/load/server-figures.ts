import { addressOf } from '../admin-api.ts';

/** Laurel's own figures at one moment of a load, from `GET /metrics`. */
export interface ServerSample {
  /** Seconds since the beginning. */
  second: number;
  /** CPU of each process since the previous sample, in cores. */
  cpu: Record<string, number>;
  /** Resident memory of each process, MiB. */
  memoryMiB: Record<string, number>;
  /** Entries that Postgres has not stored yet, and the age of the oldest in seconds. */
  outboxEntries: number;
  persistLagSeconds: number;
  /** Batches that wait. */
  batchesWaiting: number;
  /** Since the previous sample: calls of Redis functions a second, and their mean duration. */
  redisCallsPerSecond: number;
  redisCallMs: number;
  /** Since the previous sample: events that share a commit. */
  eventsPerCall: number;
}

interface Line {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** The lines of a text in the Prometheus format that have a value. */
export function metricLines(text: string): Line[] {
  return text.split('\n').flatMap((line): Line[] => {
    const [, name, labels = '', value] = /^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text_]) => [label!, text_!]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

const TIMEOUT_MS = 3_000;

/** Reads the metrics of an Admin API again and again; what a counter did is the difference between two reads. */
export class ServerFigures {
  readonly samples: ServerSample[] = [];
  private readonly address: URL;
  private readonly headers: Record<string, string>;
  private before: { atMs: number; lines: Line[] } | null = null;

  constructor({ url, key }: { url: string; key?: string }) {
    this.address = addressOf(url, '/metrics');
    this.headers = key === undefined ? {} : { 'x-api-key': key };
  }

  /** Takes a sample, `second` seconds after the beginning. `null` if the metrics cannot be read. */
  async sample(second: number): Promise<ServerSample | null> {
    const text = await fetch(this.address, { headers: this.headers, signal: AbortSignal.timeout(TIMEOUT_MS) })
      .then((answer) => (answer.ok ? answer.text() : null))
      .catch(() => null);
    if (text === null) return null;
    const now = { atMs: performance.now(), lines: metricLines(text) };
    const { before } = this;
    this.before = now;
    if (before === null) return null;
    const sample = sampleOf(before, now, second);
    this.samples.push(sample);
    return sample;
  }
}

function sampleOf(
  before: { atMs: number; lines: Line[] },
  now: { atMs: number; lines: Line[] },
  second: number,
): ServerSample {
  const seconds = (now.atMs - before.atMs) / 1000;
  const sum = (lines: readonly Line[], name: string): number =>
    lines.reduce((total, line) => (line.name === name ? total + line.value : total), 0);
  const grown = (name: string): number => Math.max(0, sum(now.lines, name) - sum(before.lines, name));
  const byProcess = (lines: readonly Line[], name: string): Record<string, number> =>
    Object.fromEntries(
      lines.filter((line) => line.name === name).map(({ labels, value }) => [labels['process'] ?? '', value]),
    );
  const cpuBefore = byProcess(before.lines, 'process_cpu_seconds_total');
  const cpu = Object.entries(byProcess(now.lines, 'process_cpu_seconds_total')).map(([name, value]) => [
    name,
    Math.max(0, value - (cpuBefore[name] ?? value)) / seconds,
  ]);
  const memory = Object.entries(byProcess(now.lines, 'process_resident_memory_bytes'));
  const calls = grown('laurel_script_call_duration_seconds_count');
  const commits = grown('laurel_events_per_call_count');
  return {
    second,
    cpu: Object.fromEntries(cpu) as Record<string, number>,
    memoryMiB: Object.fromEntries(memory.map(([name, bytes]) => [name, bytes / 2 ** 20])),
    outboxEntries: sum(now.lines, 'laurel_outbox_entries'),
    persistLagSeconds: Math.max(
      0,
      ...now.lines.filter(({ name }) => name === 'laurel_persist_lag_seconds').map(({ value }) => value),
    ),
    batchesWaiting: sum(now.lines, 'laurel_batches_waiting'),
    redisCallsPerSecond: calls / seconds,
    redisCallMs: calls === 0 ? 0 : (grown('laurel_script_call_duration_seconds_sum') / calls) * 1000,
    eventsPerCall: commits === 0 ? 0 : grown('laurel_events_per_call_sum') / commits,
  };
}
