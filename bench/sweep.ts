/**
 * The midnight of a zone whose users all have a streak that ends: loads N users (default 1,000,000) into all of Laurel, as
 * `npm start` runs it, and has them swept by its worker while others send events; prints how long it took, what it cost,
 * and what the events had to wait.
 *
 *   npm run bench:sweep -- [users] [events a second]
 *
 * Uses a Redis (every answer on disk) and a Postgres of its own.
 */
import { loadavg } from 'node:os';
import { loadCatalog } from '../src/postgres/load-catalog.ts';
import { SHARDS } from '../src/redis/keys.ts';
import { backlog } from '../src/redis/outbox.ts';
import { processCpu, redisUse, treeCpu } from './cpu.ts';
import type { LoadJob, Outcome } from './jobs.ts';
import { beginMidnight, loadMidnight, untilMidnight } from './midnight.ts';
import { median } from './rows.ts';
import { KEYED, shapeOf } from './shape.ts';
import { startStack, type Stack } from './stack.ts';

const USERS = Number(process.argv[2] ?? 1_000_000);
const EVENTS_A_SECOND = Number(process.argv[3] ?? 100);
/** Whose events they are. */
const AWAKE = 10_000;
/** Percentiles are taken of so many seconds at a time. */
const SECONDS = 5;
const ALONE = 3;

const busy = (): string => loadavg()[0]!.toFixed(1);
const secondsSince = (startMs: number): number => (performance.now() - startMs) / 1000;

async function main(): Promise<void> {
  console.log(`Load of the machine before: ${busy()}`);
  const stack = await startStack({ users: 1 });
  try {
    const shape = shapeOf((await loadCatalog(stack.pool, 0))!);
    let seed = 0;
    const events = async (): Promise<Outcome> =>
      (await stack.load({
        kind: 'load',
        url: stack.url,
        apiKey: stack.apiKey,
        requests: 'event',
        connections: 64,
        amount: EVENTS_A_SECOND * SECONDS,
        pace: { rate: EVENTS_A_SECOND },
        shape,
        crowd: { users: AWAKE },
        keyed: KEYED,
        seed: (seed += 1),
      } satisfies LoadJob)) as Outcome;
    const say = (name: string, outcomes: readonly Outcome[]): void =>
      console.log(
        `Events ${name}: p50 ${median(outcomes.map(({ p50 }) => p50)).toFixed(1)} ms, ` +
          `p99 ${median(outcomes.map(({ p99 }) => p99)).toFixed(1)} ms (median of ${outcomes.length} × ${SECONDS} s; worst ` +
          `${Math.max(...outcomes.map(({ p99 }) => p99)).toFixed(1)} ms)`,
      );

    const nowMs = Date.now();
    await loadMidnight({ ...stack, users: USERS, nowMs });
    console.log(`${USERS.toLocaleString('en')} users are asleep.`);
    // The first ones find everything cold.
    await events();
    const alone: Outcome[] = [];
    for (let n = 0; n < ALONE; n++) alone.push(await events());
    await stack.drained();
    say('alone', alone);

    const before = await use(stack);
    const startMs = performance.now();
    await beginMidnight(stack.pool, nowMs);
    let over = false;
    const swept = untilMidnight(stack.pool, nowMs, 'over').then(() => {
      over = true;
      return { seconds: secondsSince(startMs), load: busy() };
    });
    const most = deepest(stack, () => over);
    const beside: Outcome[] = [];
    while (!over) beside.push(await events());
    const { seconds, load } = await swept;
    const sent = beside.reduce((sum, { answered }) => sum + answered, 0);
    await stack.drained();
    const stored = secondsSince(startMs);
    say('beside the sweep', beside);
    const after = await use(stack);
    const each = (of: keyof typeof after): string => `${(((after[of] - before[of]) * 1e6) / USERS).toFixed(1)} µs`;
    console.log(
      `${USERS.toLocaleString('en')} users were swept in ${seconds.toFixed(1)} s and stored in Postgres after ${stored.toFixed(1)} s; ` +
        `load of the machine then: ${load}; at most ${await most} calls waited for Postgres\n` +
        `CPU a user, with ${sent.toLocaleString('en')} events: Redis ${each('redis')}, worker ${each('worker')}, Postgres ${each('postgres')}`,
    );
    const { rows } = await stack.pool.query(
      'SELECT count(*)::int AS lost, count(DISTINCT user_id)::int AS users FROM streak_changes WHERE kind = 3 AND frequency = 1',
    );
    console.log(`Streaks lost: ${JSON.stringify(rows[0])}`);
    const again = performance.now();
    await beginMidnight(stack.pool, nowMs);
    await untilMidnight(stack.pool, nowMs, 'over');
    console.log(`Swept again, nobody due: ${secondsSince(again).toFixed(1)} s`);
  } finally {
    await stack.stop();
  }
}

async function use(stack: Stack): Promise<{ redis: number; worker: number; postgres: number }> {
  const { redis, pids } = stack;
  return { redis: (await redisUse(redis)).cpu, worker: processCpu(pids.worker), postgres: treeCpu(pids.postgres) };
}

/** The most entries of the outbox at once until it is over. */
async function deepest({ redis }: Stack, isOver: () => boolean): Promise<number> {
  let most = 0;
  while (!isOver()) {
    const waiting = await Promise.all(Array.from({ length: SHARDS }, (_, shard) => backlog(redis, shard)));
    most = Math.max(
      most,
      waiting.reduce((sum, one) => sum + one, 0),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return most;
}

await main();
