import { handedKey, SHARD_NUMBERS, SHARDS } from '../src/redis/keys.ts';
import { backlog } from '../src/redis/outbox.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { redisUse } from './cpu.ts';
import type { Outcome } from './jobs.ts';
import { machineOf, type Machine } from './machine.ts';
import { CASES, type Case, type CaseOptions, type Size } from './cases.ts';
import { makeCrowds } from './crowds.ts';
import { measure, type Measurement } from './measure.ts';
import { kept, counts, median, rowsOf, type Row } from './rows.ts';
import { targetsOf, type Memory, type Target } from './targets.ts';
import { benchShape } from './load.ts';
import { startStack, type Stack } from './stack.ts';

export interface SuiteOptions {
  rounds: number;
  seconds: number;
  connections: number;
  users: number;
  only?: string[];
  data?: string;
  profileTo?: string;
  say: (line: string) => void;
}

export interface SuiteResult {
  date: string;
  machine: Machine;
  options: { rounds: number; seconds: number; connections: number; users: number };
  rows: Row[];
  targets: Target[];
  memory: Memory;
  verified: { answered: number; stored: number; complete: boolean; text: string };
  measurements: Measurement[];
}

const PRELOAD_BATCH = 64;

/**
 * Starts a stack, creates every user, warms up, measures the cases in turn in every round, and checks that Postgres has
 * exactly the events that were answered. Leaves nothing running.
 */
export async function runSuite(options: SuiteOptions): Promise<SuiteResult> {
  const { rounds, seconds, connections, users, only, say } = options;
  const cases = CASES.filter(({ name }) => only === undefined || only.includes(name));
  say('Starting Redis, Postgres, a frontend, a worker and the servers to compare with …');
  const stack = await startStack({
    users,
    ...(options.data && { parent: options.data }),
    ...(options.profileTo && { profileTo: options.profileTo }),
  });
  try {
    const catalog = await loadCatalog(stack.pool, 0);
    if (catalog === null) throw new Error('There is no demo catalog.');
    const measuring: CaseOptions = { stack, shape: await benchShape(catalog), users, connections };
    const emptyBytes = (await redisUse(stack.redis)).bytes;
    // Excludes entries that Redis keeps for some seconds in case Postgres returns with older data.
    const usedBytes = async (): Promise<number> => {
      const { bytes } = await redisUse(stack.redis);
      return bytes - emptyBytes - (await handedBytes(stack));
    };
    say(`Creating ${users.toLocaleString('en')} users …`);
    const first = await preload(stack, users);
    const bytesAUserAtFirst = (await usedBytes()) / users;
    const handedBytesAtFirst = await handedBytes(stack);

    const measurements: Measurement[] = [];
    const warmUps: Measurement[] = [];
    const phase = async (those: readonly Case[]): Promise<void> => {
      await warmUp(those, measuring, options, warmUps);
      for (let round = 1; round <= rounds; round++) {
        for (const one of those) {
          const measured = await measure(one, round, measuring, sizeOf(one, { measurements, warmUps, options }));
          measurements.push(measured);
          say(progress(measured, rounds));
        }
      }
    };
    await phase(cases.filter((one) => !one.apart));
    const bytesAtLast = await usedBytes();
    const eventsAtLast = (await stack.events()) / users;
    const apart = cases.filter((one) => one.apart);
    if (apart.length > 0) {
      say('Adding a thousand and a million members to two leaderboards …');
      stack.crowds = await makeCrowds(stack);
      await phase(apart);
    }
    const all = [...warmUps, ...measurements];
    const elsewhere = new Set(cases.filter((one) => one.elsewhere).map(({ name }) => name));
    const answered = all.reduce((sum, one) => (elsewhere.has(one.case) ? sum : sum + one.processed), first.processed);
    const memory: Memory = {
      users,
      bytesAUserAtFirst,
      handedBytesAtFirst,
      bytesAUserAtLast: bytesAtLast / users,
      eventsAUserAtLast: eventsAtLast,
      ...(await storedBytes(stack, answered)),
    };
    const verified = await verify(stack, answered, measurements);
    const machine = await machineOf(stack.redis, stack.pool);
    await stack.endFrontend();
    const rows = rowsOf(measurements);
    return {
      date: new Date().toISOString(),
      machine,
      options: { rounds, seconds, connections, users },
      rows,
      targets: targetsOf(measurements, rows, memory),
      memory,
      verified,
      measurements,
    };
  } finally {
    await stack.stop();
  }
}

/** Runs every case once with a fixed amount, to estimate its speed. */
async function warmUp(
  cases: readonly Case[],
  measuring: CaseOptions,
  options: SuiteOptions,
  warmUps: Measurement[],
): Promise<void> {
  options.say('Warming up …');
  for (const one of cases) {
    const size = sizeOf(one, { measurements: [], warmUps, options });
    const amount = Math.max(measuring.connections, Math.min(one.warmUp, 2 * measuring.users));
    warmUps.push(await measure(one, 0, measuring, { ...size, amount: one.warmUp < amount ? one.warmUp : amount }));
  }
}

/** The amount that takes the requested time, judged by the measurements so far. */
function sizeOf(
  one: Case,
  known: { measurements: Measurement[]; warmUps: Measurement[]; options: SuiteOptions },
): Size {
  const of = (name: string): Measurement[] => {
    const measured = kept(known.measurements, name);
    return measured.length > 0 ? measured : kept(known.warmUps, name);
  };
  const events = of('event');
  const capacity = events.length > 0 ? median(events.map(({ perSecond }) => perSecond)) : 1_000;
  const own = of(one.name);
  const requests = own.length > 0 ? median(own.map(({ answered, seconds }) => answered / seconds)) : capacity;
  const rate = capacity * (one.ofCapacity ?? 1);
  const perSecond = one.ofCapacity === undefined ? requests : rate;
  return {
    amount: Math.max(8, Math.round(perSecond * known.options.seconds)),
    batch: events.length > 0 ? Math.max(1, Math.round(median(events.map(({ eventsPerCall }) => eventsPerCall)))) : 8,
    rate,
  };
}

/** The size of entries that left the outbox and are kept for a while. */
async function handedBytes({ redis }: Stack): Promise<number> {
  const ofShards = await Promise.all(
    SHARD_NUMBERS.map((shard) => redis.memory('USAGE', handedKey(shard), 'SAMPLES', 0) as Promise<number | null>),
  );
  return ofShards.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
}

/** One event of every user, without HTTP. */
async function preload(stack: Stack, users: number): Promise<Outcome> {
  const { redisUrl, databaseUrl } = stack;
  const how = { batch: PRELOAD_BATCH, atOnce: 2, amount: users, crowd: { users }, seed: 0, everyUser: true };
  const outcome = (await stack.direct({ kind: 'direct', redisUrl, databaseUrl, ...how })) as Outcome;
  await stack.drained();
  return outcome;
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

/** Batches and reads are answered 200. */
const EXPECTED = new Set(['200', '201']);

function progress(one: Measurement, rounds: number): string {
  const others = Object.entries(one.statuses).filter(([status]) => !EXPECTED.has(status));
  const notes = [
    counts(one)
      ? ''
      : `does not count: ${percent(one.steal)} of the CPU went to other machines, ${percent(one.others)} to other programs`,
    ...others.map(([status, count]) => `${count} × ${status}`),
    one.beside === undefined
      ? ''
      : `${one.beside.users.toLocaleString('en')} users swept in ${one.beside.seconds.toFixed(1)} s, during ${percent(one.beside.share)} of it`,
  ];
  return `  ${one.round}/${rounds} ${one.case.padEnd(18)}${Math.round(one.perSecond).toLocaleString('en').padStart(8)}/s  ${notes.join('  ')}`.trimEnd();
}

/** Bytes that Postgres stores for an event, and entries left in Redis: none when everything is stored. */
async function storedBytes(
  stack: Stack,
  events: number,
): Promise<Pick<Memory, 'postgresBytesAnEvent' | 'outboxEntriesAtLast'>> {
  const { rows } = await stack.pool.query<{ bytes: string }>(
    `SELECT sum(pg_total_relation_size(relid)) AS bytes
       FROM (SELECT relid FROM pg_partition_tree('events') UNION ALL SELECT relid FROM pg_partition_tree('awards')) AS parts`,
  );
  const entries = await Promise.all(Array.from({ length: SHARDS }, (_, shard) => backlog(stack.redis, shard)));
  return {
    postgresBytesAnEvent: Number(rows[0]?.bytes) / events,
    outboxEntriesAtLast: entries.reduce((sum, one) => sum + one, 0),
  };
}

async function verify(stack: Stack, answered: number, measurements: Measurement[]): Promise<SuiteResult['verified']> {
  const stored = await stack.events();
  const refused = measurements.reduce(
    (sum, { statuses }) =>
      sum + Object.entries(statuses).reduce((n, [status, count]) => (EXPECTED.has(status) ? n : n + count), 0),
    0,
  );
  const complete = stored === answered;
  const text =
    `${answered.toLocaleString('en')} events were answered 201, ${stored.toLocaleString('en')} are in Postgres: ` +
    (complete ? 'none lost, none twice.' : 'THEY DIFFER.') +
    (refused > 0 ? ` ${refused.toLocaleString('en')} requests had another answer.` : '');
  return { answered, stored, complete, text };
}
