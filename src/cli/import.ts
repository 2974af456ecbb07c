import { basename } from 'node:path';
import { Option, type Command } from 'commander';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';
import { CommandError, EXIT } from './command-error.ts';
import type { Configuration } from '../domain/configuration.ts';
import { BoardGroups } from './import/read-groups.ts';
import { readSource } from './import/read-source.ts';
import { Report } from './import/report.ts';
import { sendUsers } from './import/send-users.ts';
import { sourceOf } from './import/source.ts';
import { wholeNumber } from './whole-number.ts';

interface Options extends AdminOptions {
  from?: string;
  fromKey?: string;
  fromTenant?: string;
  users?: string;
  file?: string;
  name?: string;
  rate?: number;
  concurrency: number;
  sample?: number;
  dryRun?: boolean;
}

/** Adds `laurel import`: users with their past, from another server or a file. */
export function addImport(laurel: Command): void {
  withAdminOptions(laurel.command('import'))
    .description('bring users with their past, from a server of the same Application API or from JSON Lines')
    .option('--from <url>', 'the Application API to read from; takes --from-key and --users')
    .addOption(new Option('--from-key <key>', 'an admin key there').env('SOURCE_API_KEY'))
    .option('--from-tenant <id>', 'the tenant there')
    .option('--users <file>', 'IDs of the users to be read, one a line')
    .option('--file <file>', 'users as JSON Lines, instead of --from')
    .option('--name <name>', 'of the import, which brings each user once; by default that of the file')
    .option('--rate <n>', 'requests a second at most to the source; by default what its headers allow', wholeNumber)
    .option('--concurrency <n>', 'users read at the same time', wholeNumber, 2)
    .option('--sample <n>', 'only the first users', wholeNumber)
    .option('--dry-run', 'say what would be brought and what would be missing; change nothing here')
    .action(run);
}

async function run(options: Options): Promise<void> {
  const { from, users, file, sample, dryRun = false } = options;
  if ((from === undefined) === (file === undefined)) throw new CommandError('Either --from or --file is needed.');
  if (from !== undefined && users === undefined) throw new CommandError('--from takes --users, a file of user IDs.');
  const base = file ?? users!;
  const report = await Report.open(`${base}.${dryRun ? 'dry-run' : 'import'}-report.jsonl`);
  const onProgress = progress();
  // What a dry run reads is not what an import brings: users go on meanwhile.
  const rows = file ?? `${users!}.${dryRun ? 'dry-run' : 'laurel'}.jsonl`;
  if (from !== undefined) {
    const source = sourceOf({ ...options, from });
    const { pointsSystems = [], leaderboards = [] } = await configurationOf(options);
    await readSource({
      source,
      users: users!,
      rows,
      systemKeys: pointsSystems.map(({ key }) => key),
      boards: new BoardGroups(leaderboards.filter(({ status }) => status === 'active')),
      report,
      sample,
      onProgress,
      concurrency: options.concurrency,
    });
  }
  const name =
    options.name ??
    basename(base)
      .replaceAll(/[^a-zA-Z\d\-_]/g, '-')
      .slice(0, 64);
  await sendUsers({ admin: options, name, dryRun, rows, report, sample, onProgress });
  process.stdout.write(`\n${report.text()}`);
  if (report.failed > 0) process.exitCode = EXIT.differs;
}

/** What is configured here: the Application API does not list points systems, and what is not here could not be brought. */
const configurationOf = async (options: Options): Promise<Configuration> =>
  (await askAdmin(options, { method: 'GET', path: '/v1/configuration' })) as Configuration;

/** Reports progress to a terminal in one line; elsewhere not at all. */
function progress(): (text: string) => void {
  return process.stderr.isTTY ? (text) => void process.stderr.write(`\r${text.padEnd(60)}`) : () => undefined;
}
