/**
 * The causes of the slowest answers: events at half of the throughput, on a schedule that does not wait for answers, with
 * the default settings and with one change at a time, alternating. Prints for each change how much of the time until 50 %
 * and 99 % of the answers disappears (medians over the rounds of figures measured in the same round).
 *
 *   npm run bench -- latency [rounds] [seconds] [users] [directory of the data]
 */
import { loadavg, tmpdir } from 'node:os';
import { loadCatalog } from '../src/postgres/catalog.ts';
import type { LoadJob, Outcome, Pace } from './jobs.ts';
import { median } from './rows.ts';
import { KEYED } from '../src/cli/load/events.ts';
import { benchShape } from './load.ts';
import { NODE_OPTIONS } from '../src/processes/first-start.ts';
import { startStack, type Stack } from './stack.ts';

const [rounds = 5, seconds = 4, users = 50_000] = process.argv.slice(2, 5).map(Number);
const PARENT = process.argv[5] ?? tmpdir();
const CONNECTIONS = 64;
/** Events of the run that estimates the speed, and of the one that warms up. */
const FIRST_EVENTS = 20_000;

/** A single change. */
interface Variant {
  name: string;
  begin?: () => Promise<unknown>;
  end?: () => Promise<unknown>;
  url?: string;
}

async function variantsOf(stack: Stack): Promise<Variant[]> {
  const { redis, pool } = stack;
  const fsync = async (on: boolean): Promise<void> => {
    await pool.query(`ALTER SYSTEM SET fsync = ${on ? 'on' : 'off'}`);
    await pool.query('SELECT pg_reload_conf()');
  };
  return [
    { name: 'as shipped' },
    {
      name: 'Redis waits for no disk',
      begin: () => redis.config('SET', 'appendfsync', 'no'),
      end: () => redis.config('SET', 'appendfsync', 'always'),
    },
    { name: 'Postgres waits for no disk', begin: () => fsync(false), end: () => fsync(true) },
    // The first change of a page afterwards writes the whole page to the WAL.
    { name: 'just after a checkpoint', begin: () => pool.query('CHECKPOINT') },
    {
      name: 'the worker is halted',
      begin: async () => stack.persist(false),
      end: async () => stack.persist(true),
    },
    {
      name: 'old objects are collected as often as by default',
      url: await stack.anotherFrontend(NODE_OPTIONS.filter((option) => !option.startsWith('--heap-growing'))),
    },
  ];
}

async function main(): Promise<void> {
  console.log(`Load of the machine before: ${loadavg()[0]!.toFixed(1)}`);
  const stack = await startStack({ users: 0, parent: PARENT });
  try {
    const shape = await benchShape((await loadCatalog(stack.pool, 0))!);
    let seed = 0;
    const send = async (amount: number, pace: Pace, url = stack.url): Promise<Outcome> => {
      const job: LoadJob = {
        kind: 'load',
        url,
        apiKey: stack.apiKey,
        requests: 'event',
        connections: CONNECTIONS,
        amount,
        pace,
        shape,
        crowd: { users },
        keyed: KEYED,
        seed: (seed += 1),
      };
      return stack.load(job);
    };
    const variants = await variantsOf(stack);
    for (const { url } of variants.filter((one) => one.url !== undefined)) await send(FIRST_EVENTS, 'flat out', url);
    await send(FIRST_EVENTS, 'flat out');
    const first = await send(FIRST_EVENTS, 'flat out');
    const rate = first.answered / first.seconds / 2;
    await stack.drained();
    console.log(`${rate.toFixed(0)} events/s, half of the measured throughput`);
    const measured = new Map<string, Outcome[]>(variants.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      for (const { name, begin, end, url } of round % 2 === 0 ? variants : variants.toReversed()) {
        await begin?.();
        try {
          measured.get(name)!.push(await send(Math.round(rate * seconds), { rate }, url));
        } finally {
          await end?.();
        }
        await stack.drained();
      }
    }
    print(measured);
  } finally {
    await stack.stop();
  }
}

function print(measured: ReadonlyMap<string, readonly Outcome[]>): void {
  const shipped = measured.get('as shipped')!;
  console.log(
    `${''.padEnd(42)}${'p50 ms'.padStart(9)}${'p99 ms'.padStart(9)}${'of p50'.padStart(9)}${'of p99'.padStart(9)}`,
  );
  for (const [name, outcomes] of measured) {
    const ms = (part: 'p50' | 'p99'): string =>
      median(outcomes.map((one) => one[part]))
        .toFixed(1)
        .padStart(9);
    const share = (part: 'p50' | 'p99'): string => {
      const shares = outcomes.map((one, round) => 1 - one[part] / shipped[round]![part]);
      return `${(median(shares) * 100).toFixed(0)} %`.padStart(9);
    };
    console.log(`${name.padEnd(42)}${ms('p50')}${ms('p99')}${share('p50')}${share('p99')}`);
  }
}

await main();
