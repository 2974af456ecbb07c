/**
 * How fast one user can be changed, compared with many: 64 connections to all frontends send events, batches of 1,000 and spendings at the
 * same time, for one user or spread over 1,000, in alternating rounds. Fails unless every change is accepted and the totals, balances
 * and ranks at the end are exactly those of what was sent.
 *
 *   npm run bench -- contention [events per connection] [rounds] [frontends]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool as HttpPool } from 'undici';
import { DEMO } from '../src/catalog/demo.ts';
import { type Crowd, KEYED } from '../src/cli/load/events.ts';
import { LoadProcesses } from '../src/cli/load/processes.ts';
import type { Configuration } from '../src/domain/configuration.ts';
import { MAX_BATCH } from '../src/domain/event.ts';
import { PACKAGE_ROOT } from '../src/package-root.ts';
import { batchesKey, SHARDS } from '../src/redis/keys.ts';
import { redisUse, treeCpu } from './cpu.ts';
import type { LoadJob, Outcome } from './jobs.ts';
import { benchShape, runLoad } from './load.ts';
import { median } from './rows.ts';
import { demoCatalog, startMain, temporaryServers } from './temporary-servers.ts';

const API_KEY = 'bench.0123456789abcdef0123456789abcdef';
const EVENTS_EACH = Number(process.argv[2] ?? 200);
const ROUNDS = Number(process.argv[3] ?? 5);
const FRONTENDS = process.argv[4] ?? '4';
const CONNECTIONS = { event: 48, batch: 4, spending: 12 };
/** Per round and connection. */
const BATCHES_EACH = 2;
const SPENDINGS_EACH = Math.ceil(EVENTS_EACH / 2);
const EVENTS = CONNECTIONS.event * EVENTS_EACH;
const BATCHES = CONNECTIONS.batch * BATCHES_EACH;
const SPENDINGS = CONNECTIONS.spending * SPENDINGS_EACH;
const CHANGES = EVENTS + BATCHES * MAX_BATCH + SPENDINGS;
const USERS = 1_000;
const CROWDS: Readonly<Record<string, Crowd>> = { 'many users': { users: USERS }, 'one user': { hotUser: 'hot' } };
const TARGET = 0.5;
const EVERYBODY = ['hot', ...Array.from({ length: USERS }, (_, no) => `user-${no}`)];

/** The demo, and points of which each whole unit of any metric gives one, so that what was sent says how many a user has. */
const COINS = 'coins';
const BOARD = 'most-coins';
const CONFIGURATION: Configuration = {
  ...DEMO,
  pointsSystems: [
    ...DEMO.pointsSystems!,
    {
      key: COINS,
      name: 'Coins',
      triggers: DEMO.metrics!.map(({ key }) => ({
        type: 'metric',
        status: 'active',
        points: 1,
        metricKey: key,
        metricThreshold: 1,
      })),
    },
  ],
  leaderboards: [
    ...DEMO.leaderboards!,
    { key: BOARD, name: 'Most coins', status: 'active', rankBy: 'points', pointsSystemKey: COINS, start: '2025-01-01' },
  ],
};

/** Coins that were spent, by user. */
const spent = new Map<string, number>();

const servers = await temporaryServers({ durable: true });
const shape = await benchShape(await demoCatalog(servers.pool, CONFIGURATION));
const { pid, appPort, adminPort, stop } = await startMain(PACKAGE_ROOT, {
  REDIS_URL: servers.redisUrl,
  DATABASE_URL: servers.databaseUrl,
  ADMIN_API_KEY: API_KEY,
  HTTP_PROCESSES: FRONTENDS,
  RATE_LIMIT: '0',
  IDEMPOTENCY_KEYS_PER_DAY: '0',
  LOG_LEVEL: 'error',
});
const loads = { event: new LoadProcesses(1), batch: new LoadProcesses(1) };
const http = new HttpPool(`http://127.0.0.1:${appPort}`, { connections: CONNECTIONS.spending, pipelining: 1 });

/** Millionths that a user must have, by metric. */
function sumsOf(userId: string): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { ledger } of Object.values(loads))
    for (const [metric, { sum }] of ledger.accounts.get(userId) ?? []) sums.set(metric, (sums.get(metric) ?? 0) + sum);
  return sums;
}

/** Coins that a user must have been given: one for each whole unit of a metric. */
const coinsOf = (userId: string): number =>
  [...sumsOf(userId).values()].reduce((coins, sum) => coins + Math.floor(sum / 1e6), 0);

/** Sends events, single ones or in batches. Seeds must differ, because idempotency keys contain them. */
async function send(requests: 'event' | 'batch', crowd: Crowd, seed: number): Promise<Outcome> {
  const job: LoadJob = {
    kind: 'load',
    url: `http://127.0.0.1:${requests === 'event' ? appPort : adminPort}`,
    apiKey: API_KEY,
    requests,
    connections: CONNECTIONS[requests],
    amount: requests === 'event' ? EVENTS : BATCHES,
    pace: 'flat out',
    shape,
    crowd,
    keyed: KEYED,
    seed,
    verify: true,
  };
  const outcome = await runLoad(loads[requests], job);
  const { 200: done = 0, 201: applied = 0, 202: queued = 0 } = outcome.statuses;
  if ((requests === 'event' ? applied : done + queued) !== job.amount)
    throw new Error(`Of ${job.amount} requests some were not accepted: ${JSON.stringify(outcome.statuses)}`);
  const endMs = performance.now();
  if (queued > 0) await processed();
  return { ...outcome, seconds: outcome.seconds + (performance.now() - endMs) / 1_000 };
}

/** Resolves when no batch waits. On a busy machine, the answer to a batch may come before it is processed. */
async function processed(): Promise<void> {
  for (;;) {
    const pipeline = servers.redis.pipeline();
    for (let shard = 0; shard < SHARDS; shard += 1) pipeline.xlen(batchesKey(shard));
    const waiting = (await pipeline.exec())!;
    if (waiting.every(([error, entries]) => error === null && entries === 0)) return;
    await sleep(20);
  }
}

/** Spends a coin again and again over each connection. */
async function spend(crowd: Crowd, round: string): Promise<{ seconds: number; p99: number }> {
  const latencies: number[] = [];
  const connection = async (no: number): Promise<void> => {
    for (let each = no; each < SPENDINGS; each += CONNECTIONS.spending) {
      const userId = 'users' in crowd ? `user-${each % crowd.users}` : crowd.hotUser;
      const startMs = performance.now();
      const { statusCode, body } = await http.request({
        method: 'POST',
        path: `/v1/users/${userId}/points/${COINS}/spend`,
        headers: { 'x-api-key': API_KEY, 'content-type': 'application/json', 'idempotency-key': `${round} ${each}` },
        body: '{"amount":1}',
      });
      const text = await body.text();
      if (statusCode !== 201) throw new Error(`A spending was answered with ${statusCode}: ${text}`);
      latencies.push(performance.now() - startMs);
      spent.set(userId, (spent.get(userId) ?? 0) + 1);
    }
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS.spending }, (_, no) => connection(no)));
  const p99 = latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * 0.99)]!;
  return { seconds: (performance.now() - startMs) / 1_000, p99 };
}

async function read<T>(path: string): Promise<T> {
  const { statusCode, body } = await http.request({ method: 'GET', path, headers: { 'x-api-key': API_KEY } });
  if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode} ${await body.text()}`);
  return (await body.json()) as T;
}

/** Compares a user with what was sent; returns the differences. */
async function differencesOf(userId: string): Promise<string[]> {
  const total = coinsOf(userId);
  const found: [name: string, is: number | null | undefined, wanted: number][] = [];
  for (const [key, sum] of sumsOf(userId)) {
    const { current } = await read<{ current: number }>(`/v1/users/${userId}/metrics/${key}`);
    found.push([key, current, sum / 1e6]);
  }
  const points = await read<{ total: number; balance?: number }>(`/v1/users/${userId}/points/${COINS}`);
  const balance = total - (spent.get(userId) ?? 0);
  found.push([COINS, points.total, total], ['balance', points.balance ?? points.total, balance]);
  const { rank } = await read<{ rank: number | null }>(`/v1/users/${userId}/leaderboards/${BOARD}`);
  const totals = EVERYBODY.map(coinsOf);
  const first = 1 + totals.filter((other) => other > total).length;
  const last = totals.filter((other) => other >= total).length;
  found.push(['rank', rank, Math.min(Math.max(rank ?? 0, first), last)]);
  return found
    .filter(([, is, wanted]) => is !== wanted)
    .map(([name, is, wanted]) => `${userId}: ${name} is ${is}, not ${wanted}`);
}

const rates: Record<string, number[]> = {};
try {
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [name, crowd] of Object.entries(CROWDS)) {
      const seed = 4 * round + ('users' in crowd ? 0 : 2);
      const cpu = { all: treeCpu(pid), redis: (await redisUse(servers.redis)).cpu };
      // In the first round, most users do not exist yet, so it does not count.
      const [events, batches, spendings] = await Promise.all([
        send('event', crowd, seed),
        send('batch', crowd, seed + 1),
        round === 0 ? null : spend(crowd, `${name} ${round}`),
      ]);
      if (spendings === null) continue;
      const seconds = Math.max(events.seconds, batches.seconds, spendings.seconds);
      (rates[name] ??= []).push(CHANGES / seconds);
      const micros = (cpuSeconds: number): string => ((cpuSeconds / CHANGES) * 1e6).toFixed(0);
      console.log(
        `${name.padEnd(10)} ${(CHANGES / seconds).toFixed(0).padStart(6)} changes/s; p99 of events ${events.p99.toFixed(0)} ms, batches ` +
          `${batches.p99.toFixed(0)} ms, spendings ${spendings.p99.toFixed(0)} ms; CPU in µs a change: Laurel ${micros(treeCpu(pid) - cpu.all)}, ` +
          `Redis ${micros((await redisUse(servers.redis)).cpu - cpu.redis)}`,
      );
    }
  const ratios = rates['one user']!.map((rate, round) => rate / rates['many users']![round]!);
  console.log(
    `One user ÷ many users: ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}), target ${TARGET}`,
  );
  const checked = EVERYBODY.slice(0, 51);
  const differences = (await Promise.all(checked.map(differencesOf))).flat();
  if (differences.length > 0) throw new Error(differences.join('\n'));
  console.log(`Totals, balances and ranks of ${checked.length} users are exact.`);
} finally {
  await stop();
  for (const load of Object.values(loads)) await load.end();
  await http.close();
  await servers.close();
}
