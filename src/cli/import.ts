import { Option, type Command } from 'commander';
import { basename } from 'node:path';
import { MOST_BYTES, MOST_USERS, outcomesOf, type ImportAnswer, type Reported } from '../domain/import-outcomes.ts';
import type { Configuration } from '../domain/configuration.ts';
import { AdminRefusal, askAdmin, askPatiently, withAdminOptions, type AdminOptions } from './admin-api.ts';
import { CommandError, examples, EXIT, print, wholeNumber } from './command.ts';
import { BoardGroups, readSource } from './source/users.ts';
import { Report } from './source/import-report.ts';
import { sourceOf } from './source/server.ts';
import { jsonLines } from './source/json-lines.ts';

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

export function addImport(laurel: Command): void {
  withAdminOptions(laurel.command('import'))
    .description('import users with their history, from a server of the same Application API or from JSON Lines')
    .option('--from <url>', 'the Application API to read from; takes --from-key and --users')
    .addOption(new Option('--from-key <key>', 'an admin key there').env('SOURCE_API_KEY'))
    .option('--from-tenant <id>', 'the tenant there')
    .option('--users <file>', 'IDs of the users to be read, one a line')
    .option('--file <file>', 'users as JSON Lines, instead of --from')
    .option('--name <name>', 'of the import, which imports each user once; by default that of the file')
    .option('--rate <n>', 'requests a second at most to the source; by default what its headers allow', wholeNumber)
    .option('--concurrency <n>', 'users read at the same time', wholeNumber, 2)
    .option('--sample <n>', 'only the first users', wholeNumber)
    .option('--dry-run', 'report what would be imported and what would be missing; changes nothing')
    .addHelpText(
      'after',
      examples(
        'import --from https://api.example.org/v1 --users ids.txt --dry-run --sample 20',
        'import --file users.jsonl',
      ),
    )
    .action(run);
}

async function run(options: Options): Promise<void> {
  const { from, users, file, sample, dryRun = false, json = false } = options;
  if ((from === undefined) === (file === undefined)) throw new CommandError('Either --from or --file is needed.');
  if (from !== undefined && users === undefined) throw new CommandError('--from takes --users, a file of user IDs.');
  const base = file ?? users!;
  const report = await Report.open(`${base}.${dryRun ? 'dry-run' : 'import'}-report.jsonl`);
  const onProgress = progress();
  // An import must not reuse the rows of a dry run, since users change meanwhile.
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
  print(json, report.value(), `\n${report.text()}`);
  if (report.failed > 0) process.exitCode = EXIT.differs;
}

/** This Laurel's configuration: the Application API does not list points systems. */
const configurationOf = async (options: Options): Promise<Configuration> =>
  (await askAdmin(options, { method: 'GET', path: '/v1/configuration' })) as Configuration;

/** Shows progress in one line of a terminal; elsewhere not at all. */
function progress(): (text: string) => void {
  return process.stderr.isTTY ? (text) => void process.stderr.write(`\r${text.padEnd(60)}`) : () => undefined;
}

const TOO_LARGE = 413;
interface Sending {
  admin: AdminOptions;
  name: string;
  dryRun: boolean;
  rows: string;
  report: Report;
  sample: number | undefined;
  onProgress: (text: string) => void;
}

/**
 * Imports users and reports each result. Idempotent; skips users of an earlier run. Ends the command if Laurel stays
 * away.
 */
async function sendUsers({ admin, name, dryRun, rows, report, sample, onProgress }: Sending): Promise<void> {
  let [some, bytes, done] = [[] as { id: string }[], 0, 0];
  /** The results for some users. A user who is too large for this Laurel is refused alone and does not end the command. */
  const sent = async (users: readonly { id: string }[]): Promise<Reported[]> => {
    try {
      const path = `/v1/imports?import=${encodeURIComponent(name)}&dryRun=${dryRun}`;
      return outcomesOf(users, (await askPatiently(admin, { method: 'POST', path, body: users })) as ImportAnswer);
    } catch (error) {
      if (!(error instanceof AdminRefusal) || error.status !== TOO_LARGE) throw error;
      if (users.length === 1) return [{ id: users[0]!.id, status: 'refused', why: error.message }];
      const each: Reported[] = [];
      for (const user of users) each.push(...(await sent([user])));
      return each;
    }
  };
  const flush = async (): Promise<void> => {
    if (some.length === 0) return;
    await report.add(await sent(some));
    done += some.length;
    [some, bytes] = [[], 0];
    onProgress(`${done} users ${dryRun ? 'tried' : 'sent'}`);
  };
  let taken = 0;
  for await (const { no, value } of jsonLines(rows)) {
    if (taken++ === sample) break;
    const id = (value as { id?: unknown } | null | undefined)?.id;
    if (typeof id !== 'string') {
      await report.add([{ id: `line ${no}`, status: 'refused', why: 'The line is not a JSON object with an `id`.' }]);
      continue;
    }
    if (report.isDone(id)) continue;
    const size = Buffer.byteLength(JSON.stringify(value));
    if (some.length === MOST_USERS || bytes + size > MOST_BYTES) await flush();
    some.push(value as { id: string });
    bytes += size;
  }
  await flush();
}
