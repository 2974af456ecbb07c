/**
 * Live streams (default 2,000, each of a user of its own who follows a board): memory of the frontend for each, CPU for each
 * message, the time from an event's answer to its message, and what an event costs with and without one listener.
 *
 *   npm run bench:live -- [streams]
 *
 * Uses a temporary Postgres and a temporary Redis with `appendfsync always`, and a frontend and a worker of their own.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../src/local/free-port.ts';
import { AdminKeys } from '../src/postgres/admin-keys.ts';
import { processCpu } from './cpu.ts';
import { demoCatalog, temporaryServers } from './temporary-servers.ts';

const streams = Number(process.argv[2] ?? 2_000);
const KEYS_A_CALL = 100;
const AT_ONCE = 16;
const EVENTS = 4_000;
const TIMED = 300;
const BOARD_CHANGES = 40;
/** Longer than boards are conflated. */
const BETWEEN_MS = 300;

const servers = await temporaryServers({ durable: true });
const catalog = await demoCatalog(servers.pool);
const adminKey = (await new AdminKeys({ pool: servers.pool, announce: async () => undefined }).ensureFirst(null))!;
const metric = catalog.metrics[0]!.key;
const board = catalog.leaderboards.find(
  ({ status, rankBy, breakdownAttributes }) =>
    status === 'active' && rankBy === 'metric' && breakdownAttributes.length === 0,
)!;
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
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

async function start(file: string): Promise<ChildProcess> {
  const child = fork(new URL(file, import.meta.url), { env });
  await once(child, 'message');
  return child;
}

/** Sends a request with an API key; the answer. */
function post(port: number, path: string, { key, body }: { key: string; body: unknown }): Promise<unknown> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const sent = request({ agent, port, host: '127.0.0.1', path, method: 'POST', headers }, (response) => {
      let answer = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (answer += chunk));
      response.on('end', () =>
        (response.statusCode ?? 500) < 300 ? resolve(JSON.parse(answer)) : reject(new Error(answer)),
      );
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

const event = (id: string, value: number): Promise<unknown> =>
  post(appPort, `/v1/metrics/${metric}/event`, { key: adminKey, body: { user: { id }, value } });

/** Does something for each number below `count`, some at once. */
async function times(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < count) await work(next++);
    }),
  );
}

/** A stream: how many messages of a type came, and who waits for the next. */
class Stream {
  readonly socket: Socket;
  private readonly types = new Map<string, number>();
  private waiting: { type: string; count: number; resolve: () => void }[] = [];

  constructor(ticket: string) {
    this.socket = connect(appPort, '127.0.0.1');
    this.socket.setEncoding('latin1');
    this.socket.write(`GET /v1/live?ticket=${ticket} HTTP/1.1\r\nHost: bench\r\n\r\n`);
    this.socket.on('data', (chunk: string) => {
      for (const [, type] of chunk.matchAll(/^event: (.+)$/gm)) this.types.set(type!, this.seen(type!) + 1);
      const met = this.waiting.filter(({ type, count }) => this.seen(type) >= count);
      this.waiting = this.waiting.filter((one) => !met.includes(one));
      for (const { resolve } of met) resolve();
    });
  }

  seen(type: string): number {
    return this.types.get(type) ?? 0;
  }

  until(type: string, count: number): Promise<void> {
    return this.seen(type) >= count
      ? Promise.resolve()
      : new Promise((resolve) => void this.waiting.push({ type, count, resolve }));
  }
}

async function open(key: string, body: object): Promise<Stream> {
  const { ticket } = (await post(appPort, '/v1/live/tickets', { key, body })) as { ticket: string };
  const stream = new Stream(ticket);
  await stream.until('ready', 1);
  return stream;
}

const memoryKiB = ({ pid }: ChildProcess): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

const redisPid = Number(/process_id:(\d+)/.exec(await servers.redis.info('server'))?.[1]);

/** CPU microseconds of frontend and Redis for an event each. */
async function costOfEvent(frontend: ChildProcess, users: string): Promise<{ frontend: number; redis: number }> {
  const before = [processCpu(frontend.pid!), processCpu(redisPid)] as const;
  await times(EVENTS, (n) => event(`${users}-${n % 500}`, 1));
  const micros = (pid: number, from: number): number => ((processCpu(pid) - from) * 1e6) / EVENTS;
  return { frontend: micros(frontend.pid!, before[0]), redis: micros(redisPid, before[1]) };
}

const percentile = (sorted: number[], part: number): string =>
  (sorted[Math.ceil(sorted.length * part) - 1] ?? 0).toFixed(0);

const [frontend, worker] = [await start('../src/processes/frontend.js'), await start('../workers/main.js')];
const opened: Stream[] = [];
try {
  await costOfEvent(frontend, 'warm');
  const costs = { without: [] as number[], with: [] as number[] };
  for (let pair = 0; pair < 3; pair += 1) {
    const without = await costOfEvent(frontend, 'some');
    const one = await open(adminKey, { types: ['achievement.completed'] });
    const listened = await costOfEvent(frontend, 'some');
    one.socket.destroy();
    // Until it is forgotten that somebody listened.
    await servers.redis.del(...Array.from({ length: 8 }, (_, shard) => `{s${shard}}:listened`));
    costs.without.push(without.frontend + without.redis);
    costs.with.push(listened.frontend + listened.redis);
  }
  const median = (list: number[]): number => list.toSorted((a, b) => a - b)[1]!;
  console.log(
    `An event with one listener: ${(median(costs.with) / median(costs.without)).toFixed(2)} of the CPU of frontend and Redis ` +
      `that it takes without (${median(costs.without).toFixed(0)} µs; medians of 3 pairs).`,
  );

  const keys: string[] = [];
  for (let from = 0; from < streams; from += KEYS_A_CALL) {
    const body = Array.from({ length: Math.min(KEYS_A_CALL, streams - from) }, (_, n) => ({
      userId: `user-${from + n}`,
      rateLimit: 0,
    }));
    const made = (await post(adminPort, '/v1/application-api-keys', { key: adminKey, body })) as {
      created: { key: string }[];
    };
    keys.push(...made.created.map(({ key }) => key));
  }
  await times(streams, (n) => event(`user-${n}`, 1 + n));
  const beforeKiB = memoryKiB(frontend);
  const openedMs = performance.now();
  await times(streams, async (n) => opened.push(await open(keys[n]!, { boards: [board.key] })));
  const tookMs = performance.now() - openedMs;
  await sleep(1_000);
  console.log(
    `${streams.toLocaleString('en')} streams: ${((memoryKiB(frontend) - beforeKiB) / streams).toFixed(1)} KiB of the frontend each; ` +
      `opened in ${(tookMs / streams).toFixed(2)} ms each, ticket included.`,
  );

  const counted = (): number =>
    opened.reduce((sum, one) => sum + one.seen('leaderboard.changed') + one.seen('leaderboard.rank_changed'), 0);
  await sleep(6_000);
  const [messages, cpu] = [counted(), processCpu(frontend.pid!)];
  for (let n = 0; n < BOARD_CHANGES; n += 1) {
    await event('climber', 100_000);
    await sleep(BETWEEN_MS);
  }
  const came = counted() - messages;
  console.log(
    `A message to many: ${(((processCpu(frontend.pid!) - cpu) * 1e6) / came).toFixed(1)} µs of the frontend ` +
      `(${came.toLocaleString('en')} of boards, ${BOARD_CHANGES} changes).`,
  );

  const stream = await open(adminKey, { types: ['points.changed'], userId: 'timed' });
  const waited: number[] = [];
  for (let n = 0; n < TIMED; n += 1) {
    const seen = stream.seen('points.changed');
    const answer = (await event('timed', 50)) as { points: Record<string, unknown> };
    const answeredMs = performance.now();
    if (Object.keys(answer.points).length === 0) continue;
    await stream.until('points.changed', seen + 1);
    waited.push(performance.now() - answeredMs);
    await sleep(7);
  }
  const sorted = waited.toSorted((a, b) => a - b);
  console.log(
    `From an event's answer to its message, beside these streams: ${percentile(sorted, 0.5)} ms, 99 of 100 in ` +
      `${percentile(sorted, 0.99)} ms (${sorted.length} events).`,
  );
} finally {
  for (const { socket } of opened) socket.destroy();
  agent.destroy();
  for (const child of [frontend, worker]) {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }
  await servers.close();
}
