import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inFewFiles } from '../stack/in-few-files.ts';
import { drained } from './audit.ts';
import { HttpClient, type Reply } from './http.ts';
import { eventually, signal } from './processes.ts';
import { API_KEY, ChaosStack } from './stack.ts';

const BACKLOG_LIMIT = 150;
/** Bytes that may arrive between two checks of the backlog: a fifth of a second in two frontends. */
const MARGIN = 250;
/** Longer than the time after which a silent server counts as down, on a busy machine. */
const BOUND_MS = 15_000;
const AT_ONCE_MS = 2_500;

let stack: ChaosStack;
let app: HttpClient;
let events = 0;

beforeAll(async () => {
  stack = await ChaosStack.start(
    { NODE_ENV: '', BACKLOG_LIMIT: String(BACKLOG_LIMIT) },
    { main: join(await inFewFiles(), 'src/main.js') },
  );
  app = new HttpClient(stack.appPort, API_KEY);
});
afterAll(async () => {
  app.close();
  await stack.stop();
});

async function event(key: string): Promise<Reply & { tookMs: number }> {
  const startMs = performance.now();
  const body = { user: { id: 'ada' }, value: 1 };
  const reply = await app.send('POST', '/v1/metrics/flashcards-flipped/event', { body, idempotencyKey: key });
  return { ...reply, tookMs: performance.now() - startMs };
}

/** Waits until every frontend accepts events again; stores one more event. */
async function recovered(): Promise<void> {
  let well = 0;
  events += 1;
  const key = `well-${events}`;
  await eventually('events are taken again', async () => {
    const { status } = await event(key).catch(() => ({ status: 0 }));
    well = status === 201 || status === 202 ? well + 1 : 0;
    return well === 10;
  });
}

async function expectStored(): Promise<void> {
  const redis = new Redis(stack.redisUrl);
  await drained(redis);
  redis.disconnect();
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ n: number; keys: number }>(
    'SELECT count(*)::int AS n, count(DISTINCT idempotency_key)::int AS keys FROM events',
  );
  await client.end();
  expect(rows[0]).toEqual({ n: events, keys: events });
}

test.each(['is stopped', 'is gone'] as const)(
  'Postgres %s: accepts events up to the limit of the backlog, then answers 503; afterwards all are stored',
  async (how) => {
    await recovered();
    // The limit counts what is still to be stored, so nothing may be left when Postgres stops.
    await expectStored();
    const pids = stack.pids('postgres');
    signal(how === 'is gone' ? pids.slice(0, 1) : pids, how === 'is gone' ? 'SIGKILL' : 'SIGSTOP');
    let taken = 0;
    let refused: Awaited<ReturnType<typeof event>> | null = null;
    while (refused === null && taken < BACKLOG_LIMIT + MARGIN) {
      const answer = await event(`${how}-${taken}`);
      if (answer.status === 201) taken += 1;
      else refused = answer;
    }
    events += taken;
    expect(refused).toMatchObject({
      status: 503,
      body: { error: 'Too many events wait to be stored; try again in a moment.' },
    });
    expect(refused!.headers['retry-after']).toBe('1');
    expect(taken).toBeGreaterThanOrEqual(BACKLOG_LIMIT);

    if (how === 'is gone') await stack.startAgain('postgres');
    else signal(pids, 'SIGCONT');
    await recovered();
    await expectStored();
  },
);

test('Redis is stopped: answers within a bounded time, then at once; a retry with the same key is exact', async () => {
  await recovered();
  const frontends = stack.pids('frontend');
  signal(stack.pids('redis'), 'SIGSTOP');
  const first = await Promise.all(Array.from({ length: 20 }, (_, n) => event(`still-${n}`)));
  expect(first.map(({ status }) => status)).toEqual(first.map(() => 503));
  expect(Math.max(...first.map(({ tookMs }) => tookMs))).toBeLessThan(BOUND_MS);
  // Both frontends know by now.
  await Promise.all(Array.from({ length: 20 }, (_, n) => event(`still-${n}`)));
  const later = await Promise.all(Array.from({ length: 20 }, (_, n) => event(`still-${n}`)));
  expect(later.map(({ status, headers }) => [status, headers['retry-after']])).toEqual(later.map(() => [503, '1']));
  expect(Math.max(...later.map(({ tookMs }) => tookMs))).toBeLessThan(AT_ONCE_MS);

  signal(stack.pids('redis'), 'SIGCONT');
  await recovered();
  for (let n = 0; n < 20; n++) expect([201, 202]).toContain((await event(`still-${n}`)).status);
  events += 20;
  await expectStored();
  expect(stack.pids('frontend')).toEqual(frontends);
});

test('Redis is gone: answers 503 at once, and no process needs a restart afterwards', async () => {
  await recovered();
  const processes = [...stack.pids('frontend'), ...stack.pids('worker')];
  signal(stack.pids('redis'), 'SIGKILL');
  await eventually('the loss is known', async () => (await event('gone')).status === 503);
  const answers = await Promise.all(Array.from({ length: 20 }, () => event('gone')));
  expect(answers.map(({ status, headers }) => [status, headers['retry-after']])).toEqual(answers.map(() => [503, '1']));
  expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(AT_ONCE_MS);

  await stack.startAgain('redis');
  await recovered();
  expect([201, 202]).toContain((await event('gone')).status);
  events += 1;
  await expectStored();
  expect([...stack.pids('frontend'), ...stack.pids('worker')]).toEqual(processes);
});
