import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { expect, test } from 'vitest';
import { inFewFiles } from '../stack/in-few-files.ts';
import { drained } from './audit.ts';
import { HttpClient, type Reply } from './http.ts';
import { eventually, signal } from './processes.ts';
import { API_KEY, ChaosStack } from './stack.ts';
import { opened } from '../stack/opened.ts';

const BACKLOG_LIMIT = 150;
/** Events that may arrive between two checks of the backlog: a fifth of a second in two frontends. */
const MARGIN = 2_000;
/** Longer than the time after which a silent server counts as down, on a busy machine. */
const BOUND_MS = 15_000;
const AT_ONCE_MS = 2_500;

/** The keys of events that were accepted, and of all that were sent. */
const taken = new Set<string>();
const sent = new Set<string>();

const stack = opened(
  async () =>
    ChaosStack.start(
      { NODE_ENV: '', BACKLOG_LIMIT: String(BACKLOG_LIMIT) },
      { main: join(await inFewFiles(), 'src/main.js') },
    ),
  'stop',
);
const app = opened(() => new HttpClient(stack.appPort, API_KEY));

async function event(key: string): Promise<Reply & { tookMs: number }> {
  const startMs = performance.now();
  const body = { user: { id: 'ada' }, value: 1 };
  sent.add(key);
  const reply = await app.send('POST', '/v1/metrics/flashcards-flipped/event', { body, idempotencyKey: key });
  if (reply.status === 201 || reply.status === 202) taken.add(key);
  return { ...reply, tookMs: performance.now() - startMs };
}

type Answers = Awaited<ReturnType<typeof event>>[];

/** The longest time that one of some events took. */
const longestMs = (answers: Answers): number => Math.max(...answers.map(({ tookMs }) => tookMs));

/**
 * Waits until all of 20 simultaneous events are answered at once, which a single busy moment may prevent; if each waited for
 * a server, none would ever be. Returns the answers.
 */
async function answeredAtOnce(send: (n: number) => ReturnType<typeof event>): Promise<Answers> {
  let answers: Answers = [];
  await eventually('events are answered at once', async () => {
    answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send(n)));
    return longestMs(answers) < AT_ONCE_MS;
  });
  return answers;
}

/** Waits until every frontend accepts events again. */
async function recovered(): Promise<void> {
  const key = `well-${sent.size}`;
  await eventually('events are taken again', async () => {
    const answers = await app.fromAll(() => event(key)).catch(() => []);
    return answers.length > 0 && answers.every(({ status }) => status === 201 || status === 202);
  });
}

/** Waits until everything is stored. Every accepted event must then be there once, and none that was not sent. */
async function expectStored(): Promise<Set<string>> {
  const redis = new Redis(stack.redisUrl);
  await drained(redis).finally(() => redis.disconnect());
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ key: string }>('SELECT idempotency_key AS key FROM events');
  await client.end();
  const stored = new Set(rows.map(({ key }) => key));
  expect(rows).toHaveLength(stored.size);
  expect([...taken].filter((key) => !stored.has(key))).toEqual([]);
  expect([...stored].filter((key) => !sent.has(key))).toEqual([]);
  return stored;
}

test.each(['is stopped', 'is gone'] as const)(
  'Postgres %s: accepts events up to the limit of the backlog, then answers 503; afterwards all are stored',
  async (how) => {
    await recovered();
    // The limit counts what is still to be stored, so nothing may be left when Postgres stops.
    await expectStored();
    const pids = stack.pids('postgres');
    signal(how === 'is gone' ? pids.slice(0, 1) : pids, how === 'is gone' ? 'SIGKILL' : 'SIGSTOP');
    const keyOf = (n: number): string => `${how}-${n}`;
    let accepted = 0;
    let refused: Awaited<ReturnType<typeof event>> | null = null;
    try {
      while (refused === null && accepted < BACKLOG_LIMIT + MARGIN) {
        const answer = await event(keyOf(accepted));
        if (answer.status === 201) accepted += 1;
        else refused = answer;
      }
    } finally {
      if (how === 'is gone') await stack.startAgain('postgres');
      else signal(pids, 'SIGCONT');
    }
    expect(refused).toMatchObject({
      status: 503,
      body: { error: 'Too many events wait to be stored; try again in a moment.' },
    });
    expect(refused!.headers['retry-after']).toBe('1');
    expect(accepted).toBeGreaterThanOrEqual(BACKLOG_LIMIT);

    await recovered();
    expect(await expectStored()).not.toContain(keyOf(accepted));
  },
);

test('Redis is stopped: answers within a bounded time, then at once; a retry with the same key is exact', async () => {
  await recovered();
  const frontends = stack.pids('frontend');
  const still = (n: number): ReturnType<typeof event> => event(`still-${n}`);
  signal(stack.pids('redis'), 'SIGSTOP');
  try {
    const first = await Promise.all(Array.from({ length: 20 }, (_, n) => still(n)));
    expect(first.map(({ status }) => status)).toEqual(first.map(() => 503));
    expect(longestMs(first)).toBeLessThan(BOUND_MS);
    const later = await answeredAtOnce(still);
    expect(later.map(({ status, headers }) => [status, headers['retry-after']])).toEqual(later.map(() => [503, '1']));
  } finally {
    signal(stack.pids('redis'), 'SIGCONT');
  }

  await recovered();
  for (let n = 0; n < 20; n++) expect([201, 202]).toContain((await still(n)).status);
  await expectStored();
  expect(stack.pids('frontend')).toEqual(frontends);
});

test('Redis is gone: answers 503 at once, and no process needs a restart afterwards', async () => {
  await recovered();
  const processes = [...stack.pids('frontend'), ...stack.pids('worker')];
  signal(stack.pids('redis'), 'SIGKILL');
  try {
    await eventually('the loss is known', async () => (await event('gone')).status === 503);
    const answers = await answeredAtOnce(() => event('gone'));
    expect(answers.map(({ status, headers }) => [status, headers['retry-after']])).toEqual(
      answers.map(() => [503, '1']),
    );
  } finally {
    await stack.startAgain('redis');
  }

  await recovered();
  expect([201, 202]).toContain((await event('gone')).status);
  await expectStored();
  expect([...stack.pids('frontend'), ...stack.pids('worker')]).toEqual(processes);
});
