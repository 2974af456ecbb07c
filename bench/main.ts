/**
 * `npm run bench -- [name] [arguments]`: runs one benchmark; without a name, the main one (`throughput.ts`). The header of
 * each file describes its arguments.
 */
import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatWithOptions } from 'node:util';
import { escaped } from '../src/cli/load/charts.ts';
import { page, table } from '../src/cli/load/page.ts';
import { machine } from '../src/cli/load/result.ts';
import { PACKAGE_ROOT } from '../src/package-root.ts';
import { NODE_OPTIONS } from '../src/processes/first-start.ts';

const BENCHES: Readonly<Record<string, { about: string; run: () => Promise<unknown> }>> = {
  throughput: { about: 'throughput, CPU, p99 and memory beside other servers', run: () => import('./throughput.ts') },
  load: { about: 'a load test of a Laurel that runs: `laurel load`', run: () => import('../src/cli/main.ts') },
  instructions: { about: 'instructions of Redis per event, counted', run: () => import('./instructions.ts') },
  memory: { about: 'bytes of Redis per user, by kind of key', run: () => import('./memory.ts') },
  latency: { about: 'what the slowest answers at half load wait for', run: () => import('./latency.ts') },
  overload: { about: 'three times the capacity, and clients that retry', run: () => import('./overload.ts') },
  idle: { about: 'CPU of each process at rest', run: () => import('./idle.ts') },
  persist: { about: 'CPU and WAL of storing an event', run: () => import('./persist.ts') },
  history: { about: 'reads of a user with 200,000 events', run: () => import('./history.ts') },
  analytics: { about: 'reads of the analytics screens', run: () => import('./analytics.ts') },
  rebuild: { about: 'rebuilding a Redis from Postgres and comparing both', run: () => import('./rebuild.ts') },
  scaling: { about: 'CPU of Redis per event on 1, 2 and 4 masters', run: () => import('./scaling.ts') },
  spread: { about: 'spreading a tenant over 16 shards', run: () => import('./spread.ts') },
  leagues: { about: 'closing a run of a leaderboard with leagues', run: () => import('./leagues.ts') },
  recaps: { about: 'recaps that fall due for many users at once', run: () => import('./recaps.ts') },
  contention: { about: 'many changes of one user against the same of many', run: () => import('./contention.ts') },
};

const HELP = `npm run bench -- [name] [arguments]

${Object.entries(BENCHES)
  .map(([name, { about }]) => `  ${name.padEnd(14)}${about}`)
  .join('\n')}

  NAME --help        the arguments of one
  --report <file>    also writes what a benchmark prints to an HTML file

Without a name: throughput.`;

/** The first comment of a benchmark's file. */
const header = (name: string): string =>
  /\/\*\*\n([^]*?)\n? \*\//
    .exec(readFileSync(join(PACKAGE_ROOT, 'bench', `${name}.ts`), 'utf8'))![1]!
    .replaceAll(/^ \* ?/gm, '');

/** Writes what is printed to a page, when the process ends. */
function reportTo(file: string, command: string): void {
  const lines: string[] = [];
  const { log } = console;
  console.log = (...words: unknown[]) => {
    lines.push(formatWithOptions({}, ...words));
    log(...words);
  };
  process.once('exit', () => {
    const rows = Object.entries(machine()).map(([name, value]) => [name, String(value)]);
    const body = `<h1>${escaped(command)}</h1><pre>${escaped(lines.join('\n'))}</pre>${table([], rows)}`;
    writeFileSync(file, page(command, body));
  });
}

const [first = ''] = process.argv.slice(2);
const name = first === '' || first.startsWith('-') ? 'throughput' : first;
const asksHelp = process.argv.includes('--help');
if (!Object.hasOwn(BENCHES, name)) {
  console.error(`There is no benchmark "${name}".\n\n${HELP}`);
  process.exitCode = 1;
} else if (asksHelp && first.startsWith('-')) {
  console.log(HELP);
} else if (asksHelp && name !== 'throughput' && name !== 'load') {
  console.log(header(name));
} else if (name === 'persist' && !NODE_OPTIONS.every((option) => process.execArgv.includes(option))) {
  // A persister's CPU depends on the size of the young generation, which is set when a process starts.
  const options = { execArgv: [...process.execArgv, ...NODE_OPTIONS] };
  fork(process.argv[1]!, process.argv.slice(2), options).once('exit', (code) => (process.exitCode = code ?? 1));
} else {
  // The commands of the command line take their own names and options.
  if (name !== 'load') {
    const command = `npm run bench -- ${process.argv.slice(2).join(' ')}`;
    if (first === name) process.argv.splice(2, 1);
    const at = process.argv.indexOf('--report');
    if (at !== -1) reportTo(process.argv.splice(at, 2)[1] ?? 'bench.html', command);
  }
  await BENCHES[name]!.run();
}
