/**
 * `npm run machines`: runs Laurel on the supported systems and releases of Node, each from a clean checkout. See `--help`.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { checkMachine, type Outcome } from './check.ts';
import { debianMachine, hostMachine, requireDebian, type Machine } from './machine.ts';
import { tableOf } from './table.ts';

const HELP = `npm run machines -- [options]

On Debian 13, in a temporary folder, with Debian's Redis and then its Valkey, and on this machine's own system with the
Redis it has: npm ci, npm start, an event, Ctrl-C and SIGTERM, npm test. Needs root, Debian and debootstrap.

  --debian <n,n>   releases of Node on Debian 13 (default 22,24,26; "none" leaves it out)
  --here <n,n>     releases of Node on this system (default 20,22; "none" leaves it out)
  --servers <s,s>  on Debian 13 (default redis,valkey)
  --tests <which>  "all" (default), "none", or what vitest takes: --tests "test/http test/main.test.ts"
  --minutes <n>    that one run of the tests may take (default 60)
  --out <file>     writes the table there too
`;

const { values } = parseArgs({
  options: {
    debian: { type: 'string', default: '22,24,26' },
    here: { type: 'string', default: '20,22' },
    servers: { type: 'string', default: 'redis,valkey' },
    tests: { type: 'string', default: 'all' },
    minutes: { type: 'string', default: '60' },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const list = (text: string): string[] => (text === 'none' ? [] : text.split(',').map((part) => part.trim()));
const say = (line: string): void => console.log(line);

const outcomes: Outcome[] = [];
let inUse: Machine | null = null;

async function main(): Promise<void> {
  if (values.help) return console.log(HELP);
  requireDebian();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      inUse?.remove();
      process.exit(1);
    });
  }
  if (values.debian !== 'none') await on(debianMachine, { nodes: list(values.debian), servers: list(values.servers) });
  if (values.here !== 'none') await on(hostMachine, { nodes: list(values.here), servers: ['what is here'] });
  const table = tableOf(outcomes, new Date());
  say(`\n${table}`);
  if (values.out !== undefined) writeFileSync(values.out, `${table}\n`);
  if (outcomes.some(({ problem }) => problem !== null)) process.exitCode = 1;
}

/** Every release of Node with every server, on one machine, which is removed afterwards in any case. */
async function on(make: typeof hostMachine, { nodes, servers }: { nodes: string[]; servers: string[] }): Promise<void> {
  inUse = make();
  try {
    await inUse.prepare(say);
    for (const server of servers) {
      await inUse.useServer(server);
      for (const node of nodes) {
        say(`\n${inUse.name}, ${server}, Node ${node}`);
        const outcome = await checkMachine(inUse, { node, tests: values.tests, minutes: Number(values.minutes), say });
        say(outcome.problem === null ? '  all well' : `  FAILED: ${outcome.problem}`);
        outcomes.push(outcome);
      }
    }
  } finally {
    inUse.remove();
    inUse = null;
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
