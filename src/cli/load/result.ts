import { cpus, platform, release, totalmem } from 'node:os';
import { isExpected, UNSENT, type Counts, type GeneratorHealth, type Second } from './generator.ts';
import { Histogram, type Buckets } from './histogram.ts';
import type { MergedOutcome } from './processes.ts';
import type { RampStep } from './ramp.ts';
import type { RequestKind, Scenario } from './scenario.ts';
import type { ServerSample } from './server-figures.ts';
import type { StreamsOutcome } from './streams.ts';
import type { Verification } from './verify.ts';

export const FORMAT = 'laurel-load-1';

/** Latencies in ms, of all answered requests and those that were due but not sent. */
export interface Latencies {
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
}

export interface Summary extends Latencies {
  seconds: number;
  due: number;
  answered: number;
  unsent: number;
  /** Share of the due requests that were not answered as they should. */
  errors: number;
  perSecond: number;
  events: number;
  eventsPerSecond: number;
  /** By kind and status, such as `event 201`. */
  statuses: Record<string, number>;
}

/** How well the generator kept up. */
export interface GeneratorSummary {
  processes: number;
  cpuCores: number;
  /** Of the busiest process: the share of the time in which its event loop was busy. */
  busy: number;
  delayP99Ms: number;
  /** Share of the time in which due requests waited for a free connection. */
  noConnection: number;
  /** Whether the generator, not Laurel, was the limit; and sentences about it. */
  isLimit: boolean;
  notes: string[];
}

export interface Machine {
  cpu: string;
  cores: number;
  memoryGiB: number;
  os: string;
  node: string;
}

/** What a load test found: the JSON file of a run. */
export interface LoadResult {
  format: typeof FORMAT;
  /** The run's name, which the IDs of its users contain. */
  run: string;
  started: string;
  command: string;
  url: string;
  scenarioName: string;
  scenario: Scenario;
  flatOut: boolean;
  seed: number;
  interrupted: boolean;
  machine: Machine;
  versions: {
    generator: string;
    laurel: string | null;
    node: string | null;
    redis: string | null;
    postgres: string | null;
  };
  summary: Summary;
  latency: Buckets;
  seconds: Second[];
  server: ServerSample[];
  generator: GeneratorSummary;
  streams: StreamsOutcome | null;
  /** The steps of a ramp; the other figures are then those of the highest sustained step. */
  ramp: RampStep[] | null;
  createdMetrics: string[];
  verification: Verification | null;
  /** Users that were deleted at the end; `null`: they are kept. */
  cleaned: number | null;
}

export function latenciesOf(latency: Buckets): Latencies {
  const all = Histogram.of(latency);
  const [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map((share) => all.percentile(share)) as [
    number,
    number,
    number,
    number,
  ];
  return { p50, p90, p99, p999, max: all.maxMs };
}

/** The seconds of a result without the last one, in which only late answers arrived; at least one. */
export function wholeSeconds({ seconds, summary }: Pick<LoadResult, 'seconds' | 'summary'>): Second[] {
  const whole = seconds.filter(({ second }) => second + 1 <= summary.seconds);
  return whole.length > 0 ? whole : seconds;
}

/** Requests that did not do what they should, including those that were not sent. */
export function failures({ statuses }: Pick<Counts, 'statuses'>): number {
  return Object.entries(statuses).reduce((sum, [name, count]) => {
    const [kind, status] = name.split(' ') as [RequestKind, string];
    return isExpected(kind, status) ? sum : sum + count;
  }, 0);
}

export function summaryOf(outcome: Pick<MergedOutcome, keyof Counts | 'seconds'>): Summary {
  const { seconds, due, answered, events, statuses, latency } = outcome;
  const unsent = Object.entries(statuses).reduce((sum, [name, n]) => (name.endsWith(UNSENT) ? sum + n : sum), 0);
  return {
    seconds,
    due,
    answered,
    unsent,
    errors: failures(outcome) / Math.max(1, answered + unsent),
    perSecond: answered / seconds,
    events,
    eventsPerSecond: events / seconds,
    statuses,
    ...latenciesOf(latency),
  };
}

/** Beyond these the generator is the limit: a busy event loop, or requests that leave late although a connection is free. */
const BUSY = 0.9;
const LATE_MS = 10;
/** Waiting for a connection this long is worth a sentence. */
const NO_CONNECTION = 0.05;
/** Share of what was answered under overload that is worth trying next. */
const PLANNED = 0.8;

export function generatorSummary(
  health: readonly GeneratorHealth[],
  { seconds, p50, perSecond }: Summary,
): GeneratorSummary {
  const delayP99Ms = Histogram.of(...health.map(({ delay }) => delay)).percentile(0.99);
  const busy = Math.max(...health.map((one) => one.busy));
  const noConnection = Math.max(...health.map((one) => one.noConnection));
  const notes: string[] = [];
  const isBusy = busy > BUSY;
  // A delay that is small beside the latency changes no conclusion.
  const isLate = delayP99Ms > LATE_MS && delayP99Ms > p50 / 2;
  if (isBusy) notes.push(`A process of the generator was busy for ${(busy * 100).toFixed(0)} % of the time.`);
  if (isLate)
    notes.push(
      `1 % of the requests left ${delayP99Ms.toFixed(0)} ms or more after they were due, although a connection was free.`,
    );
  if (isBusy || isLate)
    notes.push('The generator is the limit, not Laurel: use more --processes, or a machine with more free processors.');
  else if (noConnection > NO_CONNECTION)
    notes.push(
      `For ${(noConnection * 100).toFixed(0)} % of the time, due requests waited because no connection was free: Laurel answers more slowly than they become due. Their latency contains the wait.`,
      `Repeat with a --rate of about ${Math.floor(PLANNED * perSecond)} to see the latency that users would have, or with more --connections. docs/load-testing.md, Size from it, says what to raise.`,
    );
  return {
    processes: health.length,
    cpuCores: health.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0) / seconds,
    busy,
    delayP99Ms,
    noConnection,
    isLimit: isBusy || isLate,
    notes,
  };
}

export const machine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  os: `${platform()} ${release()}`,
  node: process.versions.node,
});
