/**
 * Overload: measures the capacity, then offers three times of it on a schedule that does not wait for answers. Prints the
 * goodput, the times of accepted events, of health checks meanwhile and of the first normal answer afterwards, and the
 * memory of the frontend. Then clients retry what is refused or not answered within 5 s, with the same keys, and their
 * events are counted in Postgres: none may be missing or stored twice.
 *
 * The generator shares the cores with Laurel. Making three times the requests takes CPU from Laurel that it would have if its
 * clients had machines of their own, as they do. So there are several figures of goodput: as measured; per CPU second of
 * Laurel (frontend, Redis, worker and Postgres, until all is stored), which is what a Laurel would reach whose clients take
 * nothing from it; and per CPU second of the frontend, if nothing else is its limit. Beside them stand the CPU of each
 * process, and what a request costs a server that does nothing.
 *
 *   npm run bench -- overload [seconds] [users] [times] [directory of the data]
 */
import { readFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Shape } from '../src/cli/load/events.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { machineCpu, processCpu, redisUse, treeCpu } from './cpu.ts';
import type { LoadJob, Outcome } from './jobs.ts';
import { benchShape } from './load.ts';
import { startStack, type Stack } from './stack.ts';

const [seconds = 60, users = 50_000, times = 3] = process.argv.slice(2, 5).map(Number);
const PARENT = process.argv[5] ?? tmpdir();
/** More than are in flight at the server's bound. */
const CONNECTIONS = 6_000;
const FEW_CONNECTIONS = 256;
const WARM_UP_EVENTS = 20_000;
/** How long clients that retry come at the same rate. */
const RETRIED_SECONDS = seconds / 6;
const BARE_SECONDS = 5;
const PROBE_MS = 100;
/** An answer within this time is normal again. */
const NORMAL_MS = 250;

interface Watched {
  health: { atMs: number; ms: number }[];
  largestMiB: number;
}

/** Asks for the frontend's health until stopped. */
function watch(stack: Stack): () => Promise<Watched> {
  const watched: Watched = { health: [], largestMiB: 0 };
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      for (const path of ['/healthz', '/readyz']) {
        const atMs = performance.now();
        await (await fetch(stack.adminUrl + path)).text();
        watched.health.push({ atMs, ms: performance.now() - atMs });
      }
      watched.largestMiB = Math.max(watched.largestMiB, residentMiB(stack.pids.frontend));
      await sleep(PROBE_MS);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return watched;
  };
}

/** CPU seconds of Laurel's processes. */
async function cpuOf({ pids, redis }: Stack) {
  return {
    frontend: processCpu(pids.frontend),
    redis: (await redisUse(redis)).cpu,
    persist: treeCpu(pids.postgres) + processCpu(pids.worker),
    idle: machineCpu().idle,
    all: machineCpu().all,
  };
}

interface Phase extends Outcome {
  /** CPU seconds, by process; `persist` until everything is stored. */
  cpu: { frontend: number; redis: number; persist: number; generator: number };
  /** Share of the machine that was idle. */
  idle: number;
}

/** Runs a load and waits until it is stored. `onAnswered`: called before that. */
async function phase(stack: Stack, load: () => Promise<Outcome>, onAnswered?: () => Promise<unknown>): Promise<Phase> {
  const before = await cpuOf(stack);
  const outcome = await load();
  const after = await cpuOf(stack);
  await onAnswered?.();
  await stack.drained();
  const { persist } = await cpuOf(stack);
  return {
    ...outcome,
    cpu: {
      frontend: after.frontend - before.frontend,
      redis: after.redis - before.redis,
      persist: persist - before.persist,
      generator: outcome.generator!.cpuSeconds,
    },
    idle: (after.idle - before.idle) / (after.all - before.all),
  };
}

const ofLaurel = ({ cpu }: Phase): number => cpu.frontend + cpu.redis + cpu.persist;
const micros = (seconds: number, count: number): string => ((seconds * 1e6) / count).toFixed(0);

function printCpu(name: string, one: Phase): void {
  const each = Object.entries(one.cpu).map(([process, seconds]) => `${process} ${micros(seconds, one.processed)}`);
  console.log(
    `${name}: CPU in µs per accepted event: ${each.join(', ')}; the machine was idle for ${(one.idle * 100).toFixed(0)} %`,
  );
}

const residentMiB = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

/** Seconds until an event is accepted within `NORMAL_MS`. */
async function secondsToNormal({ url, apiKey }: Stack, metricKey: string): Promise<number> {
  const sinceMs = performance.now();
  for (;;) {
    const sentMs = performance.now();
    const { status } = await fetch(`${url}/v1/metrics/${metricKey}/event`, {
      method: 'POST',
      headers: { 'X-API-KEY': apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ user: { id: 'probe' }, value: 1 }),
    });
    if (status === 201 && performance.now() - sentMs < NORMAL_MS) return (performance.now() - sinceMs) / 1000;
  }
}

type Send = (over: Pick<LoadJob, 'amount' | 'pace'> & Partial<LoadJob>) => Promise<Outcome>;

function sender(stack: Stack, shape: Shape): Send {
  let seed = 0;
  return (over) =>
    stack.load({
      kind: 'load',
      url: stack.url,
      apiKey: stack.apiKey,
      requests: 'event',
      connections: FEW_CONNECTIONS,
      shape,
      crowd: { users },
      keyed: 1,
      seed: (seed += 1),
      ...over,
    });
}

async function measureCapacity(stack: Stack, send: Send): Promise<Phase> {
  await send({ amount: WARM_UP_EVENTS, pace: 'flat out' });
  await stack.drained();
  const flatOut = await phase(stack, () => send({ amount: 2 * WARM_UP_EVENTS, pace: 'flat out' }));
  console.log(
    `capacity: ${(flatOut.processed / flatOut.seconds).toFixed(0)} events/s (${FEW_CONNECTIONS} connections)`,
  );
  printCpu('capacity', flatOut);
  return flatOut;
}

/** What requests cost at a rate if they are read and answered, and nothing else. */
async function measureBare({ pids, bareUrl }: Stack, send: Send, rate: number): Promise<void> {
  const before = processCpu(pids.bare);
  const bare = await send({
    url: bareUrl,
    connections: CONNECTIONS,
    pace: { rate },
    amount: Math.round(rate * BARE_SECONDS),
  });
  console.log(
    `a server that does nothing, at the rate of the overload: ${micros(processCpu(pids.bare) - before, bare.answered)} µs ` +
      `per request, the generator ${micros(bare.generator!.cpuSeconds, bare.answered)} µs`,
  );
}

async function overload(stack: Stack, send: Send, { flatOut, metric }: { flatOut: Phase; metric: string }) {
  const capacity = flatOut.processed / flatOut.seconds;
  const rate = times * capacity;
  const restingMiB = residentMiB(stack.pids.frontend);
  const stopWatching = watch(stack);
  let [endMs, normal] = [0, 0];
  const loaded = await phase(
    stack,
    () => send({ connections: CONNECTIONS, pace: { rate }, amount: Math.round(rate * seconds) }),
    async () => {
      endMs = performance.now();
      normal = await secondsToNormal(stack, metric);
    },
  );
  const { health, largestMiB } = await stopWatching();
  const goodput = loaded.processed / loaded.seconds;
  const perCpu = (used: (one: Phase) => number): string =>
    (loaded.processed / used(loaded) / (flatOut.processed / used(flatOut))).toFixed(2);
  const ofRefusals = loaded.cpu.frontend - (loaded.processed * flatOut.cpu.frontend) / flatOut.processed;
  const { p50, p99 } = loaded.expected!;
  const startMs = endMs - loaded.seconds * 1000;
  const slowest = (from: number, to: number): string =>
    Math.max(0, ...health.filter(({ atMs }) => atMs >= from && atMs < to).map(({ ms }) => ms)).toFixed(0);
  printCpu('overload', loaded);
  console.log(`offered: ${times} × for ${seconds} s; answers ${JSON.stringify(loaded.statuses)}
goodput: ${goodput.toFixed(0)} events/s, ${(goodput / capacity).toFixed(2)} of the capacity; per CPU second of Laurel ${perCpu(ofLaurel)}, of the frontend alone ${perCpu(({ cpu }) => cpu.frontend)}
a refused request: ${micros(ofRefusals, loaded.statuses['503'] ?? 0)} µs of the frontend
accepted: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms; 1 % of the requests left more than ${loaded.generator!.delayP99.toFixed(0)} ms late
health checks: at most ${slowest(startMs, endMs)} ms, while the clients connect ${slowest(0, startMs)} ms; normal after ${normal.toFixed(1)} s
frontend: ${restingMiB.toFixed(0)} MiB before, at most ${largestMiB.toFixed(0)} MiB`);
}

/** Clients that do not give up. Each of their events must be stored once. */
async function retries(stack: Stack, send: Send, rate: number): Promise<void> {
  const before = await stack.events();
  const amount = Math.round(rate * RETRIED_SECONDS);
  const retried = await send({ connections: CONNECTIONS, pace: { rate }, amount, retries: true });
  await stack.drained();
  const stored = (await stack.events()) - before;
  const verdict = stored === amount ? 'none lost, none twice' : 'WRONG';
  console.log(
    `clients that retry: ${amount} events in ${retried.seconds.toFixed(0)} s, answers ${JSON.stringify(retried.statuses)}; ` +
      `stored ${stored}: ${verdict}`,
  );
  if (stored !== amount) process.exitCode = 1;
}

async function main(): Promise<void> {
  console.log(`Load of the machine before: ${loadavg()[0]!.toFixed(1)}`);
  const stack = await startStack({ users: 0, parent: PARENT });
  try {
    const shape = await benchShape((await loadCatalog(stack.pool, 0))!);
    const send = sender(stack, shape);
    const flatOut = await measureCapacity(stack, send);
    const rate = (times * flatOut.processed) / flatOut.seconds;
    await measureBare(stack, send, rate);
    await overload(stack, send, { flatOut, metric: Object.keys(shape.metrics)[0]! });
    await retries(stack, send, rate);
  } finally {
    await stack.stop();
  }
}

await main();
