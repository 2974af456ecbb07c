/**
 * How Redis's work divides when one tenant is spread over the masters of a cluster: CPU of Redis per event, in total and on
 * the busiest master, for one Redis and for clusters of 1, 2 and 4 masters with a spread of 16 or 64. All run at the same
 * time and take turns, so that they meet the same machine.
 *
 *   npm run bench -- scaling [thousands of events per measurement] [rounds]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { startPostgres } from '../src/local/postgres-server.ts';
import { PACKAGE_ROOT } from '../src/package-root.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { createPool } from '../src/postgres/pool.ts';
import { connectRedis } from '../src/redis/client.ts';
import { endpointsOf } from '../src/redis/endpoints.ts';
import { backlog } from '../src/redis/outbox.ts';
import { SHARD_NUMBERS } from '../src/redis/keys.ts';
import { OwnRedis } from '../test/engine/rebuild/own-redis.ts';
import { OwnCluster } from '../test/stack/own-cluster.ts';
import { redisUse } from './cpu.ts';
import type { LoadJob } from './jobs.ts';
import { MAX_BATCH } from '../src/domain/event.ts';
import { median } from './rows.ts';
import { KEYED, type Shape } from '../src/cli/load/events.ts';
import { type AdminOptions, askPatiently } from '../src/cli/admin-api.ts';
import { LoadProcesses } from '../src/cli/load/processes.ts';
import { benchShape, runLoad } from './load.ts';
import { startMain } from './temporary-servers.ts';

const API_KEY = 'bench.0123456789abcdef0123456789abcdef';
const EVENTS = Number(process.argv[2] ?? 20) * 1_000;
const ROUNDS = Number(process.argv[3] ?? 3);
const USERS = 100_000;
/** A tenant that needs several masters has many requests at a time, so that a call has several events of a part. */
const CONNECTIONS = { event: 512, batch: 2 };
/** 0 masters: one Redis that is no cluster. */
const ARRANGEMENTS = [
  { masters: 0, shards: 1 },
  { masters: 1, shards: 16 },
  { masters: 2, shards: 16 },
  { masters: 4, shards: 16 },
  { masters: 4, shards: 64 },
];
type Requests = keyof typeof CONNECTIONS;

interface Installation {
  name: string;
  /** CPU seconds of each master. */
  cpu(): Promise<number[]>;
  send(requests: Requests, events: number, seed: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the processes of `npm start` with servers of its own. */
async function startInstallation(
  { masters, shards }: { masters: number; shards: number },
  load: LoadProcesses,
): Promise<Installation> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-scaling-'));
  const servers = masters === 0 ? await OwnRedis.start() : await OwnCluster.start({ masters });
  const postgres = await startPostgres({ directory: join(folder, 'postgres'), password: 'bench', temporary: true });
  const { appPort, adminPort, stop } = await startMain(PACKAGE_ROOT, {
    REDIS_URL: servers.url,
    DATABASE_URL: postgres.url,
    ADMIN_API_KEY: API_KEY,
    RATE_LIMIT: '0',
    IDEMPOTENCY_KEYS_PER_DAY: '0',
    LOG_LEVEL: 'error',
  });
  await spread({ url: `http://127.0.0.1:${adminPort}`, key: API_KEY }, shards);
  const pool = createPool(postgres.url, { max: 1 });
  const catalog = await loadCatalog(pool, 0);
  if (catalog === null) throw new Error('There is no demo catalog.');
  const shape: Shape = await benchShape(catalog);
  const redis = await connectRedis(servers.url, 5_000);
  return {
    name: masters === 0 ? 'one Redis, one shard' : `${masters} of a cluster, ${shards} shards`,
    cpu: () => Promise.all(endpointsOf(redis).map(async (server) => (await redisUse(server.redis)).cpu)),
    send: async (requests, events, seed) => {
      const amount = requests === 'event' ? events : events / MAX_BATCH;
      const job: LoadJob = {
        kind: 'load',
        url: `http://127.0.0.1:${requests === 'event' ? appPort : adminPort}`,
        apiKey: API_KEY,
        requests,
        connections: CONNECTIONS[requests],
        amount,
        pace: 'flat out',
        shape,
        crowd: { users: USERS },
        keyed: KEYED,
        seed,
      };
      const { processed, statuses } = await runLoad(load, job);
      if (processed !== events)
        throw new Error(`${processed} of ${events} events were processed: ${JSON.stringify(statuses)}`);
      await drained(redis);
    },
    stop: async () => {
      await stop();
      redis.disconnect();
      await pool.end();
      await Promise.all([postgres.stop(), servers.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when the tenant is spread over that many shards. */
async function spread(admin: AdminOptions, shards: number): Promise<void> {
  const path = '/v1/spread';
  const now = () => askPatiently<{ shards: number; converting: boolean }>(admin, { method: 'GET', path });
  if ((await now()).shards === shards) return;
  await askPatiently(admin, { method: 'PUT', path, body: { shards } });
  for (let is = await now(); is.shards !== shards || is.converting; is = await now()) await sleep(200);
}

/** Resolves when Postgres has everything. */
async function drained(redis: Redis): Promise<void> {
  for (;;) {
    const waiting = await Promise.all(SHARD_NUMBERS.map((shard) => backlog(redis, shard)));
    if (waiting.every((entries) => entries === 0)) return;
    await sleep(500);
  }
}

const load = new LoadProcesses(1);
const installations: Installation[] = [];
try {
  for (const how of ARRANGEMENTS) installations.push(await startInstallation(how, load));
  const found = new Map<string, { total: number[]; busiest: number[] }>();
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const requests of ['batch', 'event'] as const)
      for (const installation of installations) {
        const before = await installation.cpu();
        await installation.send(requests, EVENTS, 2 * round + Number(requests === 'event'));
        const used = (await installation.cpu()).map((cpu, index) => ((cpu - before[index]!) / EVENTS) * 1e6);
        // The first round makes users.
        if (round === 0) continue;
        const name = `${requests} ${installation.name}`;
        const one = found.get(name) ?? { total: [], busiest: [] };
        found.set(name, one);
        one.total.push(used.reduce((sum, each) => sum + each, 0));
        one.busiest.push(Math.max(...used));
      }
  for (const requests of ['batch', 'event'] as const) {
    const one = found.get(`${requests} ${installations[0]!.name}`)!;
    console.log(requests === 'batch' ? `In batches of ${MAX_BATCH}` : 'Single events, with ranks');
    for (const { name } of installations) {
      const { total, busiest } = found.get(`${requests} ${name}`)!;
      const ratio = median(total.map((each, round) => each / one.total[round]!));
      const share = median(busiest.map((each, round) => each / total[round]!));
      console.log(
        `  ${name.padEnd(26)} ${median(total).toFixed(0).padStart(5)} µs of Redis per event (${ratio.toFixed(2)}); busiest ` +
          `master ${median(busiest).toFixed(0).padStart(4)} µs, ${(share * 100).toFixed(0)} % of it`,
      );
    }
  }
} finally {
  for (const installation of installations) await installation.stop();
  await load.end();
}
