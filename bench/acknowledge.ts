/**
 * What it costs that a replica has what is answered (`REDIS_ACKNOWLEDGE=replica`): events a second with and without, in rounds
 * by turns, over one Redis with a replica, both with `appendfsync always`.
 *
 *   npm run bench:acknowledge -- [rounds] [requests a round] [connections]
 *
 * A frontend and a worker for each of the two; those that are not measured are halted meanwhile.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../src/local/free-port.ts';
import { findRedisProgram, startRedis } from '../src/local/redis-server.ts';
import { AdminKeys } from '../src/postgres/admin-keys.ts';
import { wholeBacklog } from '../src/redis/outbox.ts';
import type { LoadJob, Outcome } from './jobs.ts';
import { processCpu, redisUse, treeCpu } from './cpu.ts';
import { shapeOf } from './shape.ts';
import { demoCatalog, temporaryServers } from './temporary-servers.ts';

const [rounds = 7, amount = 4_000, connections = 32] = process.argv.slice(2).map(Number);

const servers = await temporaryServers({ durable: true });
const directory = join(tmpdir(), `laurel-bench-replica-${randomUUID()}`);
const replicaServer = await startRedis({
  program: findRedisProgram()!,
  directory,
  password: null,
  durable: true,
  temporary: true,
});
const replica = new Redis(replicaServer.url);
await replica.replicaof('127.0.0.1', Number(new URL(servers.redisUrl).port));
while (!/master_link_status:up/.test(await replica.info('replication'))) await sleep(50);

const shape = shapeOf(await demoCatalog(servers.pool));
const apiKey = (await new AdminKeys({ pool: servers.pool, announce: async () => undefined }).ensureFirst(null))!;

interface Side {
  name: string;
  url: string;
  children: ChildProcess[];
  rates: number[];
  p50: number[];
  p99: number[];
  /** Of all measured rounds together. */
  used: Record<string, number>;
  processed: number;
}

async function side(name: 'master' | 'replica'): Promise<Side> {
  const [appPort, adminPort] = [await freePort(), await freePort()];
  const env = {
    PATH: process.env['PATH'],
    HOST: '127.0.0.1',
    APP_PORT: String(appPort),
    ADMIN_PORT: String(adminPort),
    REDIS_URL: servers.redisUrl,
    DATABASE_URL: servers.databaseUrl,
    REDIS_ACKNOWLEDGE: name,
    LOG_LEVEL: 'error',
  };
  const children: ChildProcess[] = [];
  for (const file of ['../workers/main.js', '../src/processes/frontend.js']) {
    const child = fork(new URL(file, import.meta.url), { env, execArgv: ['--enable-source-maps'] });
    children.push(child);
    await once(child, 'message');
  }
  return { name, url: `http://127.0.0.1:${appPort}`, children, rates: [], p50: [], p99: [], used: {}, processed: 0 };
}

const sides = [await side('master'), await side('replica')];
const load = fork(new URL('./load.js', import.meta.url));

/** What everybody has used so far: CPU in µs, and commands of the master. */
async function useNow(children: readonly ChildProcess[]): Promise<Record<string, number>> {
  const info = await servers.redis.info('commandstats');
  const calls = (name: string): number => Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const [worker, frontend] = children.map((child) => processCpu(child.pid!));
  const [master, copy] = [await redisUse(servers.redis), await redisUse(replica)];
  const [{ pid: postgres }] = (await servers.pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows as [
    { pid: number },
  ];
  const parent = Number(readFileSync(`/proc/${postgres}/stat`, 'utf8').split(') ')[1]!.split(' ')[1]);
  const cpu = {
    frontend,
    worker,
    master: master.cpu,
    replica: copy.cpu,
    postgres: treeCpu(parent),
    load: processCpu(load.pid!),
  };
  return {
    ...Object.fromEntries(Object.entries(cpu).map(([name, seconds]) => [`µs ${name}`, seconds! * 1e6])),
    calls: calls('fcall'),
    waits: calls('wait'),
  };
}

async function measure(side: Side, seed: number, counts: boolean): Promise<void> {
  const { url, children, rates, p50, p99, used } = side;
  for (const child of children) child.kill('SIGCONT');
  await sleep(300);
  const before = await useNow(children);
  const job: LoadJob = {
    kind: 'load',
    url,
    apiKey,
    requests: 'event',
    connections,
    amount,
    pace: 'flat out',
    shape,
    crowd: { users: 5_000 },
    keyed: 0.3,
    seed,
  };
  load.send(job);
  const [outcome] = (await once(load, 'message')) as [Outcome];
  while ((await wholeBacklog(servers.redis)) > 0) await sleep(50);
  const after = await useNow(children);
  for (const child of children) child.kill('SIGSTOP');
  if (!counts) return;
  side.processed += outcome.processed;
  for (const [name, value] of Object.entries(after)) used[name] = (used[name] ?? 0) + value - before[name]!;
  rates.push(outcome.processed / outcome.seconds);
  p50.push(outcome.p50);
  p99.push(outcome.p99);
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

for (const each of sides) for (const child of each.children) child.kill('SIGSTOP');
for (let round = 0; round <= rounds; round += 1) {
  const order = round % 2 === 0 ? sides : sides.toReversed();
  // The first round warms up.
  for (const each of order) await measure(each, round * 2 + sides.indexOf(each) + 1, round > 0);
}
for (const { name, rates, p50, p99, used, processed } of sides) {
  process.stdout.write(
    `${name.padEnd(8)} ${median(rates).toFixed(0)} events/s, p50 ${median(p50).toFixed(1)} ms, p99 ${median(p99).toFixed(1)} ms\n`,
  );
  const each = Object.entries(used).map(
    ([what, value]) => `${what} ${(value / processed).toFixed(what.startsWith('µs') ? 0 : 3)}`,
  );
  process.stdout.write(`         an event: ${each.join(', ')}\n`);
}
const ratios = sides[1]!.rates.map((rate, round) => rate / sides[0]!.rates[round]!);
process.stdout.write(`ratio    ${median(ratios).toFixed(3)} (median of ${ratios.length} pairs)\n`);

for (const { children } of sides) {
  for (const child of children) {
    child.kill('SIGCONT');
    child.disconnect();
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
}
load.disconnect();
replica.disconnect();
await servers.close();
await replicaServer.stop();
