/**
 * `npm run bench`: how many events Laurel processes per second, on its own servers, compared with a bare HTTP server, with
 * direct script calls and with a plain service on Postgres. See `--help`.
 */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PACKAGE_ROOT } from '../src/package-root.ts';
import { CASES } from './cases.ts';
import { compareFiles } from './compare.ts';
import { runSuite, type SuiteOptions } from './suite.ts';
import { topFunctions } from './profile.ts';
import { tableOf, targetTable } from './report.ts';
import { memoryText } from './targets.ts';

const HELP = `npm run bench -- [options]

  --rounds <n>       rounds, each measuring every case in turn (default 5)
  --seconds <n>      approximate length of a measurement (default 3)
  --connections <n>  of the load generator (default 64)
  --users <n>        random users (default 100000)
  --only <a,b,…>     only these of the cases below
  --data <folder>    where the servers keep their data (default: the system's temporary folder)
  --profile          take CPU profiles of the frontend and the worker, and show where their time goes; slows the run down
  --no-save          write nothing to bench/results
  --compare <a> <b>  measure nothing, compare the files of two runs: ratios with 95 % intervals; exits with 1 if throughput or
                     p99 of a case is worse by more than the tolerance
  --tolerance <n>    of --compare, a share (default 0.1)

Cases:
${CASES.map(({ name, about }) => `  ${name.padEnd(20)}${about}`).join('\n')}
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    compare: { type: 'string' },
    tolerance: { type: 'string', default: '0.1' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    users: { type: 'string', default: '100000' },
    only: { type: 'string' },
    data: { type: 'string' },
    profile: { type: 'boolean', default: false },
    'no-save': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  if (values.help) return console.log(HELP);
  if (values.compare !== undefined) {
    const { text, isWorse } = compareFiles([values.compare, ...positionals], Number(values.tolerance));
    if (isWorse) process.exitCode = 1;
    return console.log(text);
  }
  const [load = 0] = loadavg();
  if (load > 0.5) console.log(`The machine is busy (load ${load.toFixed(1)}): the figures will be worse.`);
  const profileTo = values.profile ? mkdtempSync(join(tmpdir(), 'laurel-profile-')) : undefined;
  const options: SuiteOptions = {
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    connections: Number(values.connections),
    users: Number(values.users),
    ...(values.only !== undefined && { only: values.only.split(',') }),
    ...(values.data !== undefined && { data: values.data }),
    ...(profileTo !== undefined && { profileTo }),
    say: (line) => console.log(line),
  };
  const result = await runSuite(options);
  console.log(
    `\n${Object.entries(result.machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
  );
  console.log(
    `\n${tableOf(result.rows)}\n\n${targetTable(result.targets)}\n\n${memoryText(result.memory)}\n${result.verified.text}`,
  );
  if (profileTo !== undefined)
    for (const of of ['frontend', 'worker'])
      console.log(`\nThe ${of}'s own time by function (${profileTo}):\n${topFunctions(join(profileTo, of), 40)}`);
  else if (!values['no-save']) save(result);
  if (!result.verified.complete) process.exitCode = 1;
}

function save(result: { date: string }): void {
  const folder = join(PACKAGE_ROOT, 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${result.date.slice(0, 16).replace('T', '-').replace(':', '')}.json`);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  console.log(`\nWritten to ${file}`);
}

await main();
