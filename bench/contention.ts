/**
 * How fast one user can be changed, compared with many: 64 connections to all frontends send events, batches and spendings at the same
 * time, for one user or spread over 1,000. `test/engine/events/contention.test.ts` checks that nothing is lost or counted twice.
 *
 *   npm run bench -- contention [thousands of events per measurement] [rounds] [frontends]
 */
import autocannon from 'autocannon';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../src/local/postgres-server.ts';
import { PACKAGE_ROOT } from '../src/package-root.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { createPool } from '../src/postgres/pool.ts';
import { OwnRedis } from '../test/engine/rebuild/own-redis.ts';
import type { LoadJob, Outcome, RequestKind } from './jobs.ts';
import { BATCH_EVENTS } from './requests.ts';
import { median } from './rows.ts';
import { KEYED, shapeOf, type Crowd } from './shape.ts';
import { startMain } from './temporary-servers.ts';

const API_KEY = 'bench.0123456789abcdef0123456789abcdef';
const EVENTS = Number(process.argv[2] ?? 10) * 1_000;
const ROUNDS = Number(process.argv[3] ?? 5);
const FRONTENDS = process.argv[4] ?? '4';
const CONNECTIONS = { event: 48, batch: 4, spending: 12 };
const CROWDS: Readonly<Record<string, Crowd>> = { 'many users': { users: 1_000 }, 'one user': { hotUser: 'hot' } };

const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-contention-'));
const redis = await OwnRedis.start();
const postgres = await startPostgres({ directory: join(folder, 'postgres'), password: 'bench', temporary: true });
const { main, appPort, adminPort } = await startMain(PACKAGE_ROOT, {
  REDIS_URL: redis.url,
  DATABASE_URL: postgres.url,
  ADMIN_API_KEY: API_KEY,
  HTTP_PROCESSES: FRONTENDS,
  RATE_LIMIT: '0',
  IDEMPOTENCY_KEYS_PER_DAY: '0',
  LOG_LEVEL: 'error',
});
const pool = createPool(postgres.url, { max: 1 });
const shape = shapeOf((await loadCatalog(pool, 0))!);
const loads = { event: loadProcess(), batch: loadProcess() };

function loadProcess(): ChildProcess {
  return fork(new URL('./load.js', import.meta.url), { execArgv: ['--enable-source-maps'] });
}

/** Sends events, single ones or in batches. */
async function send(requests: 'event' | 'batch', crowd: Crowd, seed: number): Promise<Outcome> {
  const job: LoadJob = {
    kind: 'load',
    url: `http://127.0.0.1:${requests === 'event' ? appPort : adminPort}`,
    apiKey: API_KEY,
    requests: requests satisfies RequestKind,
    connections: CONNECTIONS[requests],
    amount: requests === 'event' ? EVENTS : EVENTS / BATCH_EVENTS,
    pace: 'flat out',
    shape,
    crowd,
    keyed: KEYED,
    seed,
  };
  loads[requests].send(job);
  const [outcome] = (await once(loads[requests], 'message')) as [Outcome];
  if (outcome.processed !== EVENTS)
    throw new Error(`${outcome.processed} of ${EVENTS} events were processed: ${JSON.stringify(outcome.statuses)}`);
  return outcome;
}

/** Spends 1 point again and again until `ended`; returns the number of answers. Throws on answers other than 201 and 422. */
async function spend(crowd: Crowd, ended: Promise<unknown>, round: string): Promise<number> {
  let sent = 0;
  let answered = 0;
  const unexpected = new Set<number>();
  const next = () => {
    sent += 1;
    const user = 'users' in crowd ? `user-${sent % crowd.users}` : crowd.hotUser;
    const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json', 'idempotency-key': `${round} ${sent}` };
    const path = `/v1/users/${user}/points/${shape.pointsSystem}/spend`;
    return { method: 'POST' as const, path, headers, body: '{"amount":1}' };
  };
  const options: autocannon.Options = {
    url: `http://127.0.0.1:${appPort}`,
    connections: CONNECTIONS.spending,
    duration: 3_600,
    setupClient: (client) => {
      client.setRequests([next()]);
      client.on('response', () => client.setRequests([next()]));
    },
  };
  await new Promise<void>((resolve) => {
    const run = autocannon(options, () => resolve());
    run.on('response', (_client, status) => {
      answered += 1;
      if (status !== 201 && status !== 422) unexpected.add(status);
    });
    void ended.finally(() => run.stop());
  });
  if (unexpected.size > 0) throw new Error(`Spendings were answered with ${[...unexpected].join(', ')}.`);
  return answered;
}

const rates: Record<string, number[]> = {};
try {
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [name, crowd] of Object.entries(CROWDS)) {
      const both = Promise.all([send('event', crowd, 2 * round), send('batch', crowd, 2 * round + 1)]);
      // In the first round, most users do not exist yet.
      const [[events, batches], spendings] = await Promise.all([
        both,
        round === 0 ? 0 : spend(crowd, both, `${name} ${round}`),
      ]);
      if (round === 0) continue;
      const seconds = Math.max(events.seconds, batches.seconds);
      const rate = (2 * EVENTS + spendings) / seconds;
      (rates[name] ??= []).push(rate);
      console.log(
        `${name.padEnd(10)} ${rate.toFixed(0).padStart(6)} changes/s: events ${(EVENTS / events.seconds).toFixed(0)}/s (p99 ` +
          `${events.p99.toFixed(0)} ms), in batches ${(EVENTS / batches.seconds).toFixed(0)}/s, spendings ${(spendings / seconds).toFixed(0)}/s`,
      );
    }
  const ratios = rates['one user']!.map((rate, round) => rate / rates['many users']![round]!);
  console.log(`One user ÷ many users: ${median(ratios).toFixed(2)} (target 0.5)`);
} finally {
  const ended = once(main, 'exit');
  main.kill('SIGTERM');
  await ended;
  for (const load of Object.values(loads)) load.disconnect();
  await pool.end();
  await Promise.all([postgres.stop(), redis.close()]);
  await rm(folder, { recursive: true, force: true });
}
