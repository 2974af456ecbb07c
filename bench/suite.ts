import { loadCatalog } from '../src/postgres/load-catalog.ts';
import { redisUse } from './cpu.ts';
import type { Outcome } from './jobs.ts';
import { machineOf, type Machine } from './machine.ts';
import { CASES, measure, type Case, type MeasureOptions, type Measurement, type Size } from './measure.ts';
import { counts, median, rowsOf, targetsOf, type Memory, type Row, type Target } from './report.ts';
import { shapeOf } from './shape.ts';
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
const WARM_UP_EVENTS = 4_000;

/**
 * Starts a stack, lets every user be seen once, warms up, measures the cases in turn in every round, and checks
 * that Postgres holds exactly the events that were answered. Leaves nothing running.
 */
export async function runSuite(options: SuiteOptions): Promise<SuiteResult> {
  const { rounds, seconds, connections, users, only, say } = options;
  const cases = CASES.filter((name) => only === undefined || only.includes(name));
  say('Starting Redis, Postgres, a frontend and a worker …');
  const stack = await startStack({
    ...(options.data && { parent: options.data }),
    ...(options.profileTo && { profileTo: options.profileTo }),
  });
  try {
    const catalog = await loadCatalog(stack.pool, 0);
    if (catalog === null) throw new Error('There is no demo catalog.');
    const measuring: MeasureOptions = { stack, shape: shapeOf(catalog), users, connections };
    const emptyBytes = (await redisUse(stack.redis)).bytes;
    say(`Every one of ${users.toLocaleString('en')} users is seen once …`);
    let answered = processed(await preload(stack, users));
    const bytesAUser = async (): Promise<number> => ((await redisUse(stack.redis)).bytes - emptyBytes) / users;
    const bytesAUserAtFirst = await bytesAUser();

    say('Warming up …');
    const sizes = new Map<Case, Size>();
    const amountOf = (perSecond: number): number => Math.max(connections, Math.round(perSecond * seconds));
    let size: Size = { amount: Math.max(connections, Math.min(WARM_UP_EVENTS, 2 * users)), batch: 8, rate: 500 };
    for (const name of cases) {
      const warm = await measure(name, 0, measuring, {
        ...size,
        ...(name === 'half load' && { amount: amountOf(size.rate) }),
      });
      if (name !== 'bare') answered += processed(warm);
      sizes.set(name, { ...size, amount: amountOf(warm.perSecond) });
      if (name === 'event')
        size = { ...size, batch: Math.max(1, Math.round(warm.eventsPerCall)), rate: warm.perSecond / 2 };
    }

    const measurements: Measurement[] = [];
    for (let round = 1; round <= rounds; round++) {
      for (const name of cases) {
        const known = measurements.filter((one) => one.case === name).map((one) => one.perSecond);
        const events = measurements.filter((one) => one.case === 'event');
        if (events.length > 0) {
          size.batch = Math.max(1, Math.round(median(events.map((one) => one.eventsPerCall))));
          size.rate = median(events.map((one) => one.perSecond)) / 2;
        }
        const perSecond = name === 'half load' ? size.rate : known.length > 0 ? median(known) : null;
        const amount = perSecond === null ? sizes.get(name)!.amount : amountOf(perSecond);
        const one = await measure(name, round, measuring, { ...size, amount });
        measurements.push(one);
        if (name !== 'bare') answered += processed(one);
        say(progress(one, rounds));
      }
    }
    const memory = {
      users,
      bytesAUserAtFirst,
      bytesAUserAtLast: await bytesAUser(),
      eventsAUserAtLast: answered / users,
    };
    const verified = await verify(stack, answered, measurements);
    const machine = await machineOf(stack.redis, stack.pool);
    await stack.endFrontend();
    const rows = rowsOf(measurements);
    const targets = targetsOf(measurements, rows, memory);
    const date = new Date().toISOString();
    return {
      date,
      machine,
      options: { rounds, seconds, connections, users },
      rows,
      targets,
      memory,
      verified,
      measurements,
    };
  } finally {
    await stack.stop();
  }
}

/** One event of every user, without HTTP. */
async function preload(stack: Stack, users: number): Promise<Outcome> {
  const { redisUrl, databaseUrl } = stack;
  const how = { batch: PRELOAD_BATCH, atOnce: 2, amount: users, crowd: { users }, seed: 0, everyUser: true };
  const outcome = (await stack.direct({ kind: 'direct', redisUrl, databaseUrl, ...how })) as Outcome;
  await stack.drained();
  return outcome;
}

const processed = ({ statuses }: Outcome): number => statuses['201'] ?? 0;

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

function progress(one: Measurement, rounds: number): string {
  const others = Object.entries(one.statuses).filter(([status]) => status !== '201');
  const notes = [
    counts(one)
      ? ''
      : `does not count: ${percent(one.steal)} of the CPU went to other machines, ${percent(one.others)} to other programs`,
    ...others.map(([status, count]) => `${count} × ${status}`),
  ];
  return `  ${one.round}/${rounds} ${one.case.padEnd(18)}${Math.round(one.perSecond).toLocaleString('en').padStart(8)}/s  ${notes.join('  ')}`.trimEnd();
}

async function verify(stack: Stack, answered: number, measurements: Measurement[]): Promise<SuiteResult['verified']> {
  const { rows } = await stack.pool.query<{ count: string }>('SELECT count(*) FROM events');
  const stored = Number(rows[0]?.count);
  const refused = measurements.reduce(
    (sum, { statuses }) =>
      sum + Object.entries(statuses).reduce((n, [status, count]) => (status === '201' ? n : n + count), 0),
    0,
  );
  const complete = stored === answered;
  const text =
    `${answered.toLocaleString('en')} events were answered 201, ${stored.toLocaleString('en')} stand in Postgres: ` +
    (complete ? 'none lost, none twice.' : 'THEY DIFFER.') +
    (refused > 0 ? ` ${refused.toLocaleString('en')} requests had another answer.` : '');
  return { answered, stored, complete, text };
}
