import { exportConfiguration } from '../src/catalog/configuration/export.ts';
import { KEYED, shapeOf, type Shape } from '../src/cli/load/events.ts';
import type { LoadJob as GeneratorJob, Pace as GeneratorPace } from '../src/cli/load/generator.ts';
import { Histogram } from '../src/cli/load/histogram.ts';
import type { LoadProcesses } from '../src/cli/load/processes.ts';
import { latenciesOf } from '../src/cli/load/result.ts';
import type { Catalog } from '../src/domain/catalog.ts';
import { MAX_BATCH } from '../src/domain/event.ts';
import type { LoadJob, Outcome, Pace, RequestKind } from './jobs.ts';

/** Bursts: this often, all of a period's requests in this part of it. */
const BURSTS = { everyMs: 1000, withinMs: 250 };

/** In mixed traffic: a share of reads, in equal parts. */
const MIX = [
  { kind: 'event', weight: 0.7, events: 1 },
  { kind: 'total', weight: 0.1, events: 0 },
  { kind: 'leaderboard', weight: 0.1, events: 0 },
  { kind: 'summary', weight: 0.1, events: 0 },
] as const;

const REQUESTS: Readonly<Record<RequestKind, GeneratorJob['requests']>> = {
  event: [{ kind: 'event', weight: 1, events: 1 }],
  batch: [{ kind: 'batch', weight: 1, events: MAX_BATCH }],
  metric: [{ kind: 'total', weight: 1, events: 0 }],
  board: [{ kind: 'leaderboard', weight: 1, events: 0 }],
  summary: [{ kind: 'summary', weight: 1, events: 0 }],
  mix: MIX,
};

/** The names of a catalog for events and reads. Reads are of one leaderboard and one points system. */
export async function benchShape(catalog: Catalog): Promise<Shape> {
  const shape = shapeOf(await exportConfiguration(catalog));
  return { ...shape, leaderboards: shape.leaderboards.slice(0, 1), pointsSystems: shape.pointsSystems.slice(0, 1) };
}

/**
 * Sends events at a steady rate, each with a key of its own, for a number of seconds.
 * @param options.rate events a second
 */
export function steadyEvents(
  stack: { url: string; apiKey: string; load: (job: LoadJob) => Promise<Outcome> },
  catalog: Catalog,
  options: { rate: number; tenants?: readonly string[] },
): (seconds: number) => Promise<Outcome> {
  const { rate, tenants } = options;
  const shape = benchShape(catalog);
  let seed = 0;
  return async (seconds) =>
    stack.load({
      kind: 'load',
      url: stack.url,
      apiKey: stack.apiKey,
      requests: 'event',
      connections: 64,
      amount: Math.round(rate * seconds),
      pace: { rate },
      shape: await shape,
      crowd: { users: 10_000 },
      keyed: KEYED,
      seed: (seed += 1),
      ...(tenants && { tenants: [...tenants] }),
    });
}

/** Sends exactly the requests of a job, with the generator of `laurel load`, so that every event sent is also answered. */
export async function runLoad(processes: LoadProcesses, job: LoadJob): Promise<Outcome> {
  const { url, apiKey, requests, amount, pace, verify = false, ...same } = job;
  const { seconds, answered, statuses, events, latency, expectedLatency, health } = await processes.run({
    ...same,
    url,
    adminUrl: url,
    headers: { 'x-api-key': apiKey },
    requests: REQUESTS[requests],
    pace: paceOf(pace),
    ends: { requests: amount },
    verify,
  });
  const byStatus: Record<string, number> = {};
  for (const [name, count] of Object.entries(statuses)) {
    const status = name.split(' ')[1]!;
    byStatus[status] = (byStatus[status] ?? 0) + count;
  }
  const { p50, p99 } = latenciesOf(latency);
  const expected = latenciesOf(expectedLatency);
  const generator = {
    cpuSeconds: health.reduce((sum, one) => sum + one.cpuSeconds, 0),
    delayP99: latenciesOf(Histogram.of(...health.map(({ delay }) => delay)).buckets()).p99,
  };
  return { seconds, answered, statuses: byStatus, processed: events, p50, p99, expected, generator };
}

function paceOf(pace: Pace): GeneratorPace {
  if (pace === 'flat out') return pace;
  const rate = 'rate' in pace ? pace.rate : pace.burstRate;
  return { curve: [{ atMs: 0, perSecond: rate }], share: 1, bursts: 'rate' in pace ? null : BURSTS };
}
