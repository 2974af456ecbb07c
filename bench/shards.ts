/**
 * What tenants of other Redis notice when one of several is lost: the 99th percentile of their events' latencies while it is away,
 * divided by that of the same time before, in pairs. Three masters with a replica each behind Sentinels; all of one group is killed,
 * and clients of its tenant go on asking.
 *
 *   npm run bench:shards -- [rounds] [seconds of each half of a pair] [events a second]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { makeTenants } from '../test/chaos/groups/tenants.ts';
import { Random } from '../test/chaos/random.ts';
import { API_KEY, ChaosStack } from '../test/chaos/stack.ts';
import type { LoadJob, Outcome } from './jobs.ts';

const [rounds = 7, seconds = 10, rate = 200] = process.argv.slice(2).map(Number);

const stack = await ChaosStack.start({}, { masters: 3, replicas: 1 });
const sql = new pg.Client({ connectionString: stack.databaseUrl });
await sql.connect();
const tenants = await makeTenants({ stack, sql, seed: 1, clients: 0, random: new Random(1) });
/** The first group carries the queues as well: what is lost is another one. */
const lost = stack.redisGroups.groups[1]!;
const [ofLost, others] = [true, false].map((is) =>
  tenants.filter(({ group }) => (group === lost.name) === is).map(({ id }) => id),
) as [string[], string[]];

const measured = fork(new URL('./load.js', import.meta.url));
const beside = fork(new URL('./load.js', import.meta.url));

async function load(child: typeof measured, of: readonly string[], seed: number): Promise<Outcome> {
  const job: LoadJob = {
    kind: 'load',
    url: `http://127.0.0.1:${stack.appPort}`,
    apiKey: API_KEY,
    requests: 'event',
    connections: 16,
    amount: rate * seconds,
    pace: { rate },
    shape: { metrics: ['cards'], board: 'cards', pointsSystem: 'xp', userAttributes: [], eventAttributes: [] },
    crowd: { users: 1_000 },
    keyed: 0.3,
    seed,
    tenants: of,
  };
  child.send(job);
  const [outcome] = (await once(child, 'message')) as [Outcome];
  return outcome;
}

async function both(seed: number): Promise<Outcome> {
  const [outcome] = await Promise.all([load(measured, others, seed), load(beside, ofLost, seed + 1)]);
  return outcome;
}

const refused = ({ answered, processed }: Outcome): number => answered - processed;
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

const ratios: number[] = [];
for (let round = 0; round <= rounds; round += 1) {
  const before = await both(round * 4);
  const { master, replicas } = await stack.redisGroups.roles(lost);
  for (const node of lost.nodes) await node.kill();
  const away = await both(round * 4 + 2);
  await master.start(null);
  for (const replica of replicas) await replica.start(master.port);
  await stack.redisGroups.mend();
  // The first round warms up.
  if (round === 0) continue;
  ratios.push(away.p99 / before.p99);
  const ms = `p50 ${before.p50.toFixed(1)} -> ${away.p50.toFixed(1)} ms, p99 ${before.p99.toFixed(1)} -> ${away.p99.toFixed(1)} ms`;
  process.stdout.write(`${round}/${rounds}  ${ms}, not processed ${refused(before)} -> ${refused(away)}\n`);
}
process.stdout.write(`ratio of p99, median of ${ratios.length} pairs: ${median(ratios).toFixed(2)}\n`);

for (const { app, admin } of tenants) {
  app.close();
  admin.close();
}
measured.disconnect();
beside.disconnect();
await sql.end();
await stack.stop();
