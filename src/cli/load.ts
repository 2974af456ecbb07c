import { Option, type Command } from 'commander';
import { keyOption } from './admin-api.ts';
import { examples, wholeNumber } from './command.ts';
import type { Options } from './load/perform.ts';
import { SCENARIOS } from './load/scenarios.ts';

const HELP = `

Scenarios:
${Object.entries(SCENARIOS)
  .map(([name, { description }]) => `  ${name.padEnd(10)}${description}`)
  .join('\n')}

The load begins when it is due, whether or not earlier requests are answered, and latencies count from then. --verify needs
no access to the databases: every acknowledged event is compared with totals, stored events and leaderboard scores.
Exit code 1: --verify found differences, a limit of the scenario was exceeded, or --compare found a figure worse.`;

export function addLoad(laurel: Command): void {
  laurel
    .command('load')
    .description('load test a running Laurel, and write a report')
    .argument(
      '[files...]',
      'with --json: the file for the result (default: standard output); with --compare: two results',
    )
    .option('--url <url>', 'the Application API', 'http://localhost:8080')
    .addOption(keyOption('an admin key'))
    .addOption(
      new Option('--admin-url <url>', 'the Admin API, for batches, server figures, --verify and --clean').env(
        'ADMIN_URL',
      ),
    )
    .option('--admin-key <key>', 'its key; by default --key')
    .option('--tenant <id>', 'the tenant, in a multi-tenant organisation')
    .option('--scenario <name or file>', 'one of those below, or a JSON file', 'events')
    .option('--rate <rate>', 'requests per second, or a curve: 0s:50,30s:500,90s:500')
    .option('--flat-out', 'send as fast as answers come, instead of at a rate')
    .option('--duration <duration>', 'length of the load, such as 30s or 5m; of each step of a ramp')
    .option('--connections <number>', 'connections, in all processes together', wholeNumber)
    .option('--users <number>', 'users of the events', wholeNumber)
    .option('--metric <key...>', 'metrics of the events')
    .option('--keyed <share>', 'share of the events with an idempotency key, 0 to 1', Number)
    .option('--retries', 'clients send again what is refused with 503 or not answered within 5 s')
    .option('--seed <number>', 'repeats a run’s random choices', Number)
    .option(
      '--processes <number>',
      'processes that make load; by default one for each 3,000 requests per second',
      wholeNumber,
    )
    .option('--verify', 'compare what Laurel acknowledged with what it has at the end')
    .option('--clean', 'delete the run’s users at the end')
    .option('--clean-run <run>', 'only delete the users of an earlier run')
    .option('--report <file>', 'write the report as an HTML file')
    .option('--json', 'print the result as JSON, or write it to the named file')
    .option('--compare', 'compare two results instead')
    .option('--tolerance <share>', 'of --compare: how much worse throughput and p99 may be', Number, 0.1)
    .option('--show <name>', 'print a scenario as JSON, to write your own')
    .addHelpText(
      'after',
      examples(
        'load --metric lessons --rate 200 --report report.html',
        'load --admin-url http://localhost:8081 --scenario mixed --duration 2m --verify --clean',
        'load --scenario ramp --metric lessons --json ramp.json',
        'load --compare before.json after.json --tolerance 0.15',
      ) + HELP,
    )
    .action(async (files: string[], options: Options) => {
      const { perform } = await import('./load/perform.ts');
      await perform(files, options);
    });
}
