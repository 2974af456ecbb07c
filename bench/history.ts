/**
 * Reads of the history of a user with very many events, and the effect of many concurrent ones on others. Loads N events
 * (default 200,000) of one user over a year, each with another attribute value, and half as many awards. Prints the
 * milliseconds of every read, then those of another user's events (100 per second) alone and beside 20 connections that
 * continuously request the first one's wrapped year. Alternates both in one run.
 *
 *   npm run bench -- history [events] [seconds a turn] [turns]
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request, setGlobalDispatcher } from 'undici';
import { freePort } from '../src/local/free-ports.ts';
import { createAdminKeys } from '../src/postgres/access/admin-keys.ts';
import { sumUsers } from '../src/postgres/persist/day-sums.ts';
import { transaction } from '../src/postgres/transaction.ts';
import { processCpu, treeCpu } from './cpu.ts';
import { median } from './rows.ts';
import { HISTORY_READ_MS } from './targets.ts';
import { demoCatalog, temporaryServers, type TemporaryServers } from './temporary-servers.ts';

const [events = 200_000, seconds = 5, turns = 3] = process.argv.slice(2, 5).map(Number);
const KEY = 'bench.0123456789abcdef0123456789abcdef';
const BUSY = 'busy';
const ATTACKERS = 20;
const EVENT_EVERY_MS = 10;
const READS = 21;
const headers = { 'x-api-key': KEY, 'content-type': 'application/json' };

setGlobalDispatcher(new Agent({ connections: 64 }));

async function send(url: string, body?: object): Promise<number> {
  const answer = await request(url, {
    headers,
    method: body === undefined ? 'GET' : 'POST',
    body: body === undefined ? null : JSON.stringify(body),
  });
  await answer.body.dump();
  return answer.statusCode;
}

const wrapped = (url: string): string => `${url}/v1/users/${BUSY}/wrapped`;

/** A separate process that sends requests until it is asked to end, then reports how often it got each status. */
async function attack(url: string): Promise<void> {
  const statuses: Record<string, number> = {};
  let ends = false;
  process.once('message', () => (ends = true));
  const ask = async (): Promise<void> => {
    while (!ends) {
      const status = await send(wrapped(url));
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: ATTACKERS }, ask));
  process.send!(statuses, () => process.exit(0));
}

const ID = `(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || left(md5(n::text), 12) || '0000')::uuid`;
const MADE = `(SELECT n, now() - n * (INTERVAL '365 days' / $1::int) AS at FROM generate_series(1, $1::int) AS n) AS made`;

/** Stores the history of the busy user, as if it had been sent and persisted. */
async function load({ pool }: TemporaryServers): Promise<void> {
  const numbers = async (kind: string): Promise<number[]> =>
    (
      await pool.query<{ no: number }>('SELECT no FROM catalog_resources WHERE tenant_no = 0 AND kind = $1', [kind])
    ).rows.map(({ no }) => no);
  await pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes)
     SELECT ${ID}, 0, '${BUSY}', ($2::int[])[1 + n % cardinality($2)], 1 + n % 7, n, at, at::date, jsonb_build_object('deck', n)
       FROM ${MADE}`,
    [events, await numbers('metric')],
  );
  await pool.query(
    `INSERT INTO awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date)
     SELECT ${ID}, 0, '${BUSY}', ($2::int[])[1 + n % cardinality($2)], 1, 1 + n % 7, n, at, at::date FROM ${MADE} WHERE n % 2 = 0`,
    [events, await numbers('points_system')],
  );
  const start = performance.now();
  await transaction(pool, (client) => sumUsers(client, [{ tenantNo: 0, userId: BUSY }], events));
  console.log(`${events} events, summed in ${(performance.now() - start).toFixed(0)} ms`);
  await pool.query('VACUUM ANALYZE');
}

/** Latencies of another user's events, ms, ascending. */
async function victim(url: string): Promise<number[]> {
  const waits: Promise<number>[] = [];
  const until = performance.now() + seconds * 1_000;
  for (let n = 0; performance.now() < until; n += 1) {
    const from = performance.now();
    const event = { user: { id: `victim-${n % 10}` }, value: 1 };
    waits.push(send(`${url}/v1/metrics/flashcards-flipped/event`, event).then(() => performance.now() - from));
    await sleep(EVENT_EVERY_MS);
  }
  return (await Promise.all(waits)).toSorted((a, b) => a - b);
}

/**
 * Prints the time of each read, and the CPU of the frontend and of Postgres, which other work on the machine hardly changes.
 */
async function timeReads(url: string, pids: { frontend: number; postgres: number }): Promise<void> {
  const range = `startDate=${day(400)}&endDate=${day(0)}&aggregation=daily`;
  for (const path of [
    'wrapped',
    `metrics/flashcards-flipped/event-summary?${range}`,
    `points/xp/event-summary?${range}`,
  ]) {
    const times: number[] = [];
    let status = await send(`${url}/v1/users/${BUSY}/${path}`);
    const before = [processCpu(pids.frontend), treeCpu(pids.postgres)];
    for (let n = 0; n < READS; n += 1) {
      const from = performance.now();
      status = await send(`${url}/v1/users/${BUSY}/${path}`);
      times.push(performance.now() - from);
    }
    const [frontend, postgres] = [processCpu(pids.frontend) - before[0]!, treeCpu(pids.postgres) - before[1]!];
    console.log(
      `${path.slice(0, 40).padEnd(42)} ${status}: median ${median(times).toFixed(1)} ms (target ${HISTORY_READ_MS}); CPU: frontend ` +
        `${((frontend / READS) * 1_000).toFixed(1)} ms, Postgres ${((postgres / READS) * 1_000).toFixed(1)} ms`,
    );
  }
}

async function postmaster({ pool }: TemporaryServers): Promise<number> {
  const { rows } = await pool.query<{ path: string }>(`SELECT current_setting('data_directory') AS path`);
  return Number((await readFile(join(rows[0]!.path, 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);

const shown = (waits: number[]): string =>
  `p50 ${waits[waits.length >> 1]!.toFixed(1)} ms, p99 ${waits[Math.floor(waits.length * 0.99)]!.toFixed(1)} ms`;

async function main(): Promise<void> {
  const servers = await temporaryServers({ durable: true });
  const children: ChildProcess[] = [];
  try {
    await demoCatalog(servers.pool);
    await createAdminKeys(servers.pool, async () => undefined).ensureFirst(KEY);
    const [appPort, adminPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${appPort}`;
    const env = {
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      APP_PORT: String(appPort),
      ADMIN_PORT: String(adminPort),
      REDIS_URL: servers.redisUrl,
      DATABASE_URL: servers.databaseUrl,
      LOG_LEVEL: 'error',
    };
    for (const file of ['../workers/main.js', '../src/processes/frontend.js']) {
      const child = fork(new URL(file, import.meta.url), { env, execArgv: ['--enable-source-maps'] });
      children.push(child);
      await once(child, 'message');
    }
    for (const id of [BUSY, ...Array.from({ length: 50 }, (_, n) => `victim-${n}`)])
      await send(`${url}/v1/metrics/flashcards-flipped/event`, { user: { id }, value: 1 });
    await sleep(1_000);
    await load(servers);
    await timeReads(url, { frontend: children[1]!.pid!, postgres: await postmaster(servers) });
    await victim(url);
    for (let turn = 0; turn < turns; turn += 1) {
      const alone = await victim(url);
      const attacker = fork(new URL(import.meta.url), ['attack', url]);
      children.push(attacker);
      await sleep(1_000);
      const beside = await victim(url);
      attacker.send('end');
      const [statuses] = (await once(attacker, 'message')) as [object];
      console.log(
        `alone ${shown(alone)}; beside ${shown(beside)}; the attacker was answered ${JSON.stringify(statuses)}`,
      );
    }
  } finally {
    for (const child of children) child.kill();
    const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(running.map((child) => once(child, 'exit')));
    await servers.close();
  }
}

await (process.argv[2] === 'attack' ? attack(process.argv[3]!) : main());
