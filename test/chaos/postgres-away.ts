import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { drained } from './audit.ts';
import { HttpClient } from './http.ts';
import { signal } from './processes.ts';
import { API_KEY, ChaosStack } from './stack.ts';

export interface PostgresAway {
  awaySeconds: number;
  /** Events answered 201 while Postgres was down, and requests answered 503. */
  accepted: number;
  refused: number;
  /** Requests with any other outcome. */
  otherwise: number;
  drainedMs: number;
  lost: number;
  duplicated: number;
  /** Before, and the maximum while Postgres was down. */
  redisMiB: [number, number];
  frontendMiB: [number, number];
}

const CLIENTS = 6;
/** Small enough to be reached. */
const BACKLOG_LIMIT = 20_000;
const MIB = 2 ** 20;

/** Kills Postgres, keeps the load up for the given time, starts Postgres again, and counts what it then holds. */
export async function postgresAway(options: { seconds: number; say: (line: string) => void }): Promise<PostgresAway> {
  const { seconds, say } = options;
  // The demo is configured.
  const stack = await ChaosStack.start({ NODE_ENV: '', BACKLOG_LIMIT: String(BACKLOG_LIMIT) });
  const app = new HttpClient(stack.appPort, API_KEY);
  const redis = new Redis(stack.redisUrl);
  const keys: string[] = [];
  let [refused, otherwise] = [0, 0];
  const ending = new AbortController();
  const work = async (no: number): Promise<void> => {
    for (let n = 0; !ending.signal.aborted; n++) {
      const body = { user: { id: `user-${n % 500}` }, value: 1 };
      const idempotencyKey = `${no}-${n}`;
      const reply = await app
        .send('POST', '/v1/metrics/flashcards-flipped/event', { body, idempotencyKey })
        .catch(() => null);
      if (reply?.status === 201) keys.push(idempotencyKey);
      else if (reply?.status === 503) refused += 1;
      else otherwise += 1;
      await sleep(5);
    }
  };
  const redisMiB = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]) / MIB;
  const frontendMiB = (): number => Math.max(...stack.pids('frontend').map(residentMiB));
  try {
    const working = Promise.all(Array.from({ length: CLIENTS }, (_, no) => work(no)));
    await sleep(3_000);
    const before = keys.length;
    const memory = { redis: [await redisMiB(), 0], frontend: [frontendMiB(), 0] } as Record<string, [number, number]>;
    signal(stack.pids('postgres').slice(0, 1), 'SIGKILL');
    const untilMs = performance.now() + seconds * 1000;
    while (performance.now() < untilMs) {
      await sleep(Math.min(5_000, Math.max(0, untilMs - performance.now())));
      memory['redis']![1] = Math.max(memory['redis']![1], await redisMiB());
      memory['frontend']![1] = Math.max(memory['frontend']![1], frontendMiB());
      say(`${keys.length - before} accepted, ${refused} refused, ${otherwise} otherwise`);
    }
    const accepted = keys.length - before;
    ending.abort();
    await working;
    const startMs = performance.now();
    await stack.startAgain('postgres');
    await drained(redis);
    const drainedMs = performance.now() - startMs;
    const sql = new pg.Client({ connectionString: stack.databaseUrl });
    await sql.connect();
    const { rows } = await sql.query<{ key: string }>('SELECT idempotency_key AS key FROM events');
    await sql.end();
    const stored = new Set(rows.map(({ key }) => key));
    return {
      awaySeconds: seconds,
      accepted,
      refused,
      otherwise,
      drainedMs: Math.round(drainedMs),
      lost: keys.filter((key) => !stored.has(key)).length,
      duplicated: rows.length - stored.size,
      redisMiB: memory['redis']!.map(Math.round) as [number, number],
      frontendMiB: memory['frontend']!.map(Math.round) as [number, number],
    };
  } finally {
    ending.abort();
    redis.disconnect();
    app.close();
    await stack.stop();
  }
}

/** Memory of a process that is not swapped out. */
const residentMiB = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
