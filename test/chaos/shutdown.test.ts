import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { inFewFiles } from '../stack/in-few-files.ts';
import { HttpClient } from './http.ts';
import { drained } from './audit.ts';
import { eventually, signal } from './processes.ts';
import { API_KEY, ChaosStack } from './stack.ts';
import { endChild } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';

const CLIENTS = 8;
/** An ending frontend closes a connection that rests for longer. Clients rest less, unless the machine stops them. */
const LINGER_MS = 900;

// No grace period for a load balancer: the guarantees must hold without one.
const stack = opened(
  async () => ChaosStack.start({ NODE_ENV: '' }, { main: join(await inFewFiles(), 'src/main.js') }),
  'stop',
);
const app = opened(() => new HttpClient(stack.appPort, API_KEY));

/** Clients with keep-alive connections, which retry only if a connection is refused. */
class Load {
  readonly acknowledged: string[] = [];
  readonly failures: string[] = [];
  refusals = 0;
  private readonly name: string;
  private readonly ending = new AbortController();
  private readonly working: Promise<unknown>;

  /** `name`: prefix of the events' keys. */
  constructor(name: string, whenRefused: 'again' | 'end') {
    this.name = name;
    this.working = Promise.all(Array.from({ length: CLIENTS }, (_, no) => this.work(no, whenRefused)));
  }

  async end(): Promise<void> {
    this.ending.abort();
    await this.working;
  }

  private async work(no: number, whenRefused: 'again' | 'end'): Promise<void> {
    let sentMs = performance.now();
    for (let n = 1; !this.ending.signal.aborted; n++) {
      // The connection rests since it was answered, which was after the request was sent, until the next one is written.
      const beforeMs = sentMs;
      sentMs = performance.now();
      let writtenMs = Infinity;
      setImmediate(() => (writtenMs = performance.now()));
      const key = `${this.name}-${no}-${n}`;
      const body = { user: { id: `user-${no}` }, value: 1 };
      try {
        const { status } = await app.send('POST', '/v1/metrics/flashcards-flipped/event', {
          body,
          idempotencyKey: key,
        });
        if (status === 201) this.acknowledged.push(key);
        else this.failures.push(`${key}: ${status}`);
      } catch (error) {
        const isRefused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
        if (isRefused && whenRefused === 'end') return;
        if (isRefused) this.refusals += 1;
        else if (Math.min(writtenMs, performance.now()) - beforeMs < LINGER_MS)
          this.failures.push(`${key}: ${String(error)}`);
      }
      // Some connections are always busy, others rest between two requests.
      await new Promise((resolve) => setTimeout(resolve, no * 20));
    }
  }
}

/** Sockets that listen on an IPv4 port. */
function listeners(port: number): number {
  const LISTEN = '0A';
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return lines.filter((line) => {
    const [, local = '', , state] = line.trim().split(/ +/);
    return state === LISTEN && parseInt(local.split(':')[1] ?? '', 16) === port;
  }).length;
}

/** Keys of the stored events of a load. */
async function storedKeys(name: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ key: string }>(
      `SELECT idempotency_key AS key FROM events WHERE idempotency_key LIKE $1 || '-%' ORDER BY 1`,
      [name],
    );
    return rows.map(({ key }) => key);
  } finally {
    await client.end();
  }
}

describe('under load', () => {
  test('restarting frontends behind one port one after the other fails no request', async () => {
    const load = new Load('restarts', 'again');
    await eventually('the first events', () => load.acknowledged.length > 20);
    const before = stack.pids('frontend');
    for (const pid of before) {
      signal([pid], 'SIGTERM');
      await eventually('another frontend', () => {
        const pids = stack.pids('frontend');
        return pids.length === 2 && !pids.includes(pid);
      });
      await eventually('it listens', () => listeners(stack.appPort) === 2);
    }
    await load.end();
    expect(load.failures).toEqual([]);
    expect(load.refusals).toBe(0);
    expect(stack.pids('frontend').filter((pid) => before.includes(pid))).toEqual([]);
    const redis = new Redis(stack.redisUrl);
    await drained(redis);
    redis.disconnect();
    expect(await storedKeys('restarts')).toEqual(load.acknowledged.toSorted());
  });

  test('SIGTERM: answers what has begun, refuses the rest, and stores everything it answered', async () => {
    const load = new Load('end', 'end');
    await eventually('the first events', () => load.acknowledged.length > 100);
    expect(await endChild(stack.laurel, 'SIGTERM')).toEqual([0, null]);
    await load.end();
    expect(load.failures).toEqual([]);
    const redis = new Redis(stack.redisUrl);
    expect(await redis.xlen('{s0}:outbox')).toBe(0);
    redis.disconnect();
    expect(await storedKeys('end')).toEqual(load.acknowledged.toSorted());
  });
});
