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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../src/local/free-port.ts';
import { findRedisProgram, startRedis } from '../src/local/redis-server.ts';
import { AdminKeys } from '../src/postgres/admin-keys.ts';
import { wholeBacklog } from '../src/redis/outbox.ts';
import type { LoadJob, Outcome } from './jobs.ts';
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
  return { name, url: `http://127.0.0.1:${appPort}`, children, rates: [], p50: [], p99: [] };
}

const sides = [await side('master'), await side('replica')];
const load = fork(new URL('./load.js', import.meta.url));

async function measure({ url, children, rates, p50, p99 }: Side, seed: number, counts: boolean): Promise<void> {
  for (const child of children) child.kill('SIGCONT');
  await sleep(300);
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
  for (const child of children) child.kill('SIGSTOP');
  if (!counts) return;
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
for (const { name, rates, p50, p99 } of sides) {
  process.stdout.write(
    `${name.padEnd(8)} ${median(rates).toFixed(0)} events/s, p50 ${median(p50).toFixed(1)} ms, p99 ${median(p99).toFixed(1)} ms\n`,
  );
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
