/**
 * `npm run chaos`: Laurel's processes and servers are killed, stopped and cut off under load, again and again, and
 * after each time everything is counted. See `--help`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { reportOf } from './report.ts';
import { runChaos } from './suite.ts';

const HELP = `npm run chaos -- [options]

  --rounds <n>    faults, one after another, each with an audit (default 20)
  --seed <n>      the same faults and events again (their timing differs)
  --clients <n>   that send at once (default 6)
  --only <text>   only faults whose names hold this text
  --no-save       write nothing to test/chaos/results
`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string' },
    clients: { type: 'string', default: '6' },
    only: { type: 'string' },
    'no-save': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  if (values.help) return console.log(HELP);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`Seed ${seed}; the same again: npm run chaos -- --seed ${seed} --rounds ${values.rounds}`);
  const result = await runChaos({
    rounds: Number(values.rounds),
    seed,
    clients: Number(values.clients),
    ...(values.only !== undefined && { only: values.only }),
    say: (line) => console.log(line),
  });
  console.log(`\n${reportOf(result)}`);
  if (!values['no-save']) {
    const folder = join(PACKAGE_ROOT, 'test', 'chaos', 'results');
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${new Date().toISOString().slice(0, 16).replace('T', '-').replace(':', '')}.json`);
    writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
    console.log(`\nWritten to ${file}`);
  }
  if (result.findings.differences.length > 0) process.exitCode = 1;
}

await main();
