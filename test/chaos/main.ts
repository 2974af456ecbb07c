/**
 * `npm run chaos`: kills, stops and cuts off Laurel's processes and servers under load, again and again, and audits
 * everything after each fault. See `--help`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { parseArrangement } from './cluster/redis-cluster.ts';
import { runGroupChaos } from './cluster/suite.ts';
import { postgresAway } from './postgres-away.ts';
import { reportOf, reportOfGroups } from './report.ts';
import { runChaos } from './suite.ts';

const HELP = `npm run chaos -- [options]

  --rounds <n>    faults, one after another, each with an audit (default 20)
  --seed <n>      the same faults and events again (their timing differs)
  --clients <n>   that send at once (default 6)
  --only <text>   only faults whose names hold this text
  --cluster <m>x<r> a cluster instead of one Redis, and other faults: m masters with r replicas each, as 3x1, with
                  REDIS_ACKNOWLEDGE=replica; --clients is then of each tenant (default 3), and there is one on each master.
                  Slots are moved as well if there is a Valkey 9 (VALKEY9, or on the PATH)
  --scenario postgres-away   instead: Postgres is gone for --seconds <n> (default 300) under load
  --no-save       write nothing to test/chaos/results
`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string' },
    clients: { type: 'string' },
    only: { type: 'string' },
    cluster: { type: 'string' },
    scenario: { type: 'string' },
    seconds: { type: 'string', default: '300' },
    'no-save': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  if (values.help) return console.log(HELP);
  if (values.scenario !== undefined) return scenario(values.scenario);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const options = {
    rounds: Number(values.rounds),
    seed,
    ...(values.clients !== undefined && { clients: Number(values.clients) }),
    ...(values.only !== undefined && { only: values.only }),
    say: (line: string) => console.log(line),
  };
  const again = Object.entries({ ...values, seed }).filter(([, value]) => typeof value !== 'boolean');
  console.log(
    `Seed ${seed}; the same again: npm run chaos -- ${again.map(([name, value]) => `--${name} '${value}'`).join(' ')}`,
  );
  const result =
    values.cluster === undefined
      ? await runChaos(options)
      : await runGroupChaos({ ...options, arrangement: parseArrangement(values.cluster) });
  console.log(`\n${'arrangement' in result ? reportOfGroups(result) : reportOf(result)}`);
  if (!values['no-save']) save(values.cluster === undefined ? 'rounds' : `cluster-${values.cluster}`, result);
  if (result.findings.differences.length > 0) process.exitCode = 1;
}

async function scenario(name: string): Promise<void> {
  if (name !== 'postgres-away') throw new Error(`There is no scenario "${name}".`);
  const result = await postgresAway({ seconds: Number(values.seconds), say: (line) => console.log(line) });
  console.log(result);
  if (!values['no-save']) save(name, result);
  if (result.lost + result.duplicated + result.otherwise > 0) process.exitCode = 1;
}

function save(name: string, result: object): void {
  const folder = join(PACKAGE_ROOT, 'test', 'chaos', 'results');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${new Date().toISOString().slice(0, 16).replace('T', '-').replace(':', '')}-${name}.json`);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  console.log(`\nWritten to ${file}`);
}

await main();
