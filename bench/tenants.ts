/**
 * What an event costs where as many events over as many connections are of several tenants (default 16), against one tenant:
 * rounds by turns, on one frontend, one worker, and a Redis with `appendfsync always`. Each tenant has 1,000 users, so that all
 * boards are alike. CPU is that until everything is stored.
 *
 *   npm run bench:tenants -- [tenants] [rounds] [requests a round] [connections] [folder of another checkout …]
 *
 * Every other checkout needs `npm run build`; its processes take the same requests.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigurationStore } from '../src/catalog/configuration-store.ts';
import { DEMO } from '../src/catalog/demo.ts';
import { freePort } from '../src/local/free-port.ts';
import { PACKAGE_ROOT } from '../src/package-root.ts';
import { AdminKeys } from '../src/postgres/admin-keys.ts';
import { loadCatalog } from '../src/postgres/load-catalog.ts';
import { Tenants } from '../src/postgres/tenants.ts';
import { wholeBacklog } from '../src/redis/outbox.ts';
import { WORKER_NODE_OPTIONS } from '../src/processes/worker-node-options.ts';
import { processCpu, redisUse } from './cpu.ts';
import type { LoadJob, Outcome } from './jobs.ts';
import { median } from './rows.ts';
import { shapeOf } from './shape.ts';
import { temporaryServers, type TemporaryServers } from './temporary-servers.ts';

const [count = 16, rounds = 5, amount = 6_000, connections = 64] = process.argv.slice(2, 6).map(Number);
const OTHERS = process.argv.slice(6);
const USERS_A_TENANT = 1_000;
const WHO = { who: 'bench' };
const announce = async (): Promise<void> => undefined;
const customerIds = Array.from({ length: count }, (_, no) => `tenant-${no + 1}`);

/** µs of CPU an event, but for the first two. */
interface Figures {
  perSecond: number;
  callsAnEvent: number;
  redis: number;
  frontend: number;
  worker: number;
}

async function measureAll(root: string): Promise<void> {
  const servers = await temporaryServers({ durable: true });
  const children: ChildProcess[] = [];
  try {
    const apiKey = await prepare(servers);
    const [appPort, adminPort] = [await freePort(), await freePort()];
    const env = {
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      APP_PORT: String(appPort),
      ADMIN_PORT: String(adminPort),
      REDIS_URL: servers.redisUrl,
      DATABASE_URL: servers.databaseUrl,
      LOG_LEVEL: 'error',
    };
    const started = async (file: string, execArgv: readonly string[] = []): Promise<ChildProcess> => {
      const child = fork(join(root, 'dist', file), { env, execArgv: ['--enable-source-maps', ...execArgv] });
      children.push(child);
      await once(child, 'message');
      return child;
    };
    const worker = await started('workers/main.js', WORKER_NODE_OPTIONS);
    const frontend = await started('src/processes/frontend.js');
    const load = fork(new URL('./load.js', import.meta.url));
    children.push(load);
    const shape = shapeOf((await loadCatalog(servers.pool, 1))!);
    for (const tenant of customerIds)
      await seenOnce(`http://127.0.0.1:${adminPort}`, { apiKey, tenant, metric: shape.metrics[0]! });
    let seed = 0;
    const measure = async (tenants: readonly string[]): Promise<Figures> => {
      seed += 1;
      const job: LoadJob = {
        kind: 'load',
        url: `http://127.0.0.1:${appPort}`,
        apiKey,
        requests: 'event',
        connections,
        amount,
        pace: 'flat out',
        shape,
        crowd: { users: USERS_A_TENANT },
        keyed: 0.3,
        seed,
        tenants,
      };
      const use = async () => ({
        redis: await redisUse(servers.redis),
        frontend: processCpu(frontend.pid!),
        worker: processCpu(worker.pid!),
      });
      const before = await use();
      load.send(job);
      const [outcome] = (await once(load, 'message')) as [Outcome];
      while ((await wholeBacklog(servers.redis)) > 0) await sleep(20);
      const after = await use();
      if (outcome.processed !== amount)
        throw new Error(`Not every event was applied: ${JSON.stringify(outcome.statuses)}`);
      const micros = (seconds: number): number => (seconds * 1e6) / amount;
      return {
        perSecond: amount / outcome.seconds,
        callsAnEvent: (after.redis.scriptCalls - before.redis.scriptCalls) / amount,
        redis: micros(after.redis.cpu - before.redis.cpu),
        frontend: micros(after.frontend - before.frontend),
        worker: micros(after.worker - before.worker),
      };
    };
    const sides = [customerIds.slice(0, 1), customerIds].map((tenants) => ({ tenants, figures: [] as Figures[] }));
    // The first rounds warm up.
    for (let round = -1; round < rounds; round += 1) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const figures = await measure(side.tenants);
        if (round >= 0) side.figures.push(figures);
      }
    }
    print(root, sides);
  } finally {
    for (const child of children) await end(child);
    await servers.close();
  }
}

/** The tenants, each with the demo catalog; a key. */
async function prepare({ pool }: TemporaryServers): Promise<string> {
  const tenants = new Tenants({ pool, announce });
  await tenants.refresh();
  await tenants.updateOrganisation({ multiTenancy: true }, WHO);
  await tenants.create(
    customerIds.map((customerId) => ({ customerId, name: customerId })),
    WHO,
  );
  const store = new ConfigurationStore({ pool, announce });
  for (const customerId of customerIds) await store.apply(tenants.byCustomerId(customerId)!.no, DEMO, WHO);
  return (await new AdminKeys({ pool, announce }).ensureFirst(null))!;
}

/** Every user of a tenant has an event. */
async function seenOnce(
  adminUrl: string,
  { apiKey, tenant, metric }: { apiKey: string; tenant: string; metric: string },
): Promise<void> {
  const events = Array.from({ length: USERS_A_TENANT }, (_, no) => ({
    key: metric,
    user: { id: `user-${no}` },
    value: 1,
  }));
  const { status } = await fetch(`${adminUrl}/v1/metrics/events?wait=true`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'tenant-id': tenant, 'content-type': 'application/json' },
    body: JSON.stringify(events),
  });
  if (status !== 200) throw new Error(`Events of ${tenant} were answered ${status}.`);
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  if (child.connected) child.disconnect();
  child.kill('SIGTERM');
  await exited;
}

function print(root: string, sides: readonly { tenants: readonly string[]; figures: readonly Figures[] }[]): void {
  const LINES: readonly (readonly [name: string, of: keyof Figures, digits: number])[] = [
    ['events a second', 'perSecond', 0],
    ['calls of scripts an event', 'callsAnEvent', 3],
    ['Redis, µs an event', 'redis', 0],
    ['frontend, µs an event', 'frontend', 0],
    ['worker, µs an event', 'worker', 0],
  ];
  console.log(
    `${root}, medians of ${rounds} pairs\n  ${''.padEnd(28)}${sides.map(({ tenants }) => `${tenants.length} tenants`.padStart(12)).join('')}${'ratio'.padStart(12)}`,
  );
  for (const [name, of, digits] of LINES) {
    const values = sides.map(({ figures }) => median(figures.map((one) => one[of])));
    const ratio = median(sides[1]!.figures.map((one, round) => one[of] / sides[0]!.figures[round]![of]));
    console.log(
      `  ${name.padEnd(28)}${values.map((value) => value.toFixed(digits).padStart(12)).join('')}${ratio.toFixed(2).padStart(12)}`,
    );
  }
}

for (const root of [PACKAGE_ROOT, ...OTHERS]) await measureAll(root);
