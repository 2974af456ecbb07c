/**
 * Overload: measures the capacity, then offers three times of it on a schedule that does not wait for answers. Prints the
 * goodput, the times of accepted events, of health checks meanwhile and of the first normal answer afterwards, and the
 * memory of the frontend. Then clients retry what is refused or not answered within 5 s, with the same keys, and their
 * events are counted in Postgres: none may be missing or stored twice.
 *
 *   npm run bench -- overload [seconds] [users] [times] [directory of the data]
 */
import { readFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadCatalog } from '../src/postgres/catalog.ts';
import type { LoadJob, Outcome } from './jobs.ts';
import { benchShape } from './load.ts';
import { startStack, type Stack } from './stack.ts';

const [seconds = 60, users = 50_000, times = 3] = process.argv.slice(2, 5).map(Number);
const PARENT = process.argv[5] ?? tmpdir();
/** For everything that is in flight, at the server's bound of a second. */
const CONNECTIONS = 6_000;
const FEW_CONNECTIONS = 256;
const WARM_UP_EVENTS = 20_000;
/** How long clients that retry come at the same rate. */
const RETRIED_SECONDS = seconds / 6;
const PROBE_MS = 100;
/** An answer within this time is normal again. */
const NORMAL_MS = 250;

interface Watched {
  slowestHealthMs: number;
  largestMiB: number;
}

/** Asks for the frontend's health until stopped. */
function watch(stack: Stack): () => Promise<Watched> {
  const watched: Watched = { slowestHealthMs: 0, largestMiB: 0 };
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      for (const path of ['/healthz', '/readyz']) {
        const sinceMs = performance.now();
        await (await fetch(stack.adminUrl + path)).text();
        watched.slowestHealthMs = Math.max(watched.slowestHealthMs, performance.now() - sinceMs);
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

async function main(): Promise<void> {
  console.log(`Load of the machine before: ${loadavg()[0]!.toFixed(1)}`);
  const stack = await startStack({ users: 0, parent: PARENT });
  try {
    const shape = benchShape((await loadCatalog(stack.pool, 0))!);
    let seed = 0;
    const send = (over: Pick<LoadJob, 'amount' | 'pace'> & Partial<LoadJob>): Promise<Outcome> =>
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
    await send({ amount: WARM_UP_EVENTS, pace: 'flat out' });
    const flatOut = await send({ amount: WARM_UP_EVENTS, pace: 'flat out' });
    const capacity = flatOut.processed / flatOut.seconds;
    await stack.drained();
    const restingMiB = residentMiB(stack.pids.frontend);
    console.log(`capacity: ${capacity.toFixed(0)} events/s (${FEW_CONNECTIONS} connections)`);

    const offered = { connections: CONNECTIONS, pace: { rate: times * capacity } };
    const stopWatching = watch(stack);
    const loaded = await send({ ...offered, amount: Math.round(times * capacity * seconds) });
    const normal = await secondsToNormal(stack, Object.keys(shape.metrics)[0]!);
    const { slowestHealthMs, largestMiB } = await stopWatching();
    const goodput = loaded.processed / loaded.seconds;
    console.log(`offered: ${times} × for ${seconds} s; answers ${JSON.stringify(loaded.statuses)}`);
    console.log(`goodput: ${goodput.toFixed(0)} events/s, ${(goodput / capacity).toFixed(2)} of the capacity`);
    const { p50, p99 } = loaded.expected!;
    console.log(`accepted: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`);
    console.log(`health checks: at most ${slowestHealthMs.toFixed(0)} ms; normal after ${normal.toFixed(1)} s`);
    console.log(`frontend: ${restingMiB.toFixed(0)} MiB before, at most ${largestMiB.toFixed(0)} MiB`);

    await stack.drained();
    const before = await stack.events();
    const amount = Math.round(times * capacity * RETRIED_SECONDS);
    const retried = await send({ ...offered, amount, retries: true });
    await stack.drained();
    const stored = (await stack.events()) - before;
    const verdict = stored === amount ? 'none lost, none twice' : 'WRONG';
    console.log(
      `clients that retry: ${amount} events in ${retried.seconds.toFixed(0)} s, answers ${JSON.stringify(retried.statuses)}; ` +
        `stored ${stored}: ${verdict}`,
    );
    if (stored !== amount) process.exitCode = 1;
  } finally {
    await stack.stop();
  }
}

await main();
