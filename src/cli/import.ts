import { type Command, Option } from 'commander';
import { basename } from 'node:path';
import type { Configuration } from '../domain/configuration.ts';
import {
  groupedReasons,
  type ImportAnswer,
  MOST_BYTES,
  MOST_USERS,
  outcomesOf,
  type Reason,
  type Reported,
} from '../domain/import-outcomes.ts';
import { type AdminOptions, AdminRefusal, askAdmin, askPatiently, withAdminOptions } from './admin-api.ts';
import {
  addLines,
  CommandError,
  cutUnfinished,
  examples,
  EXIT,
  jsonLines,
  print,
  tableText,
  wholeNumber,
} from './command.ts';
import { counted } from '../domain/words.ts';
import { BoardGroups, readSource } from './source-users.ts';
import { sourceOf } from './source.ts';

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
  let wanted: ReadonlySet<string> | undefined;
  if (from !== undefined) {
    const source = sourceOf({ ...options, from });
    const { pointsSystems = [], leaderboards = [] } = await configurationOf(options);
    wanted = await readSource({
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
  await sendUsers({ admin: options, name, dryRun, rows, wanted, report, sample, onProgress });
  print(json, report.value(), `\n${report.text()}`);
  if (report.failed > 0) process.exitCode = EXIT.differs;
}

/** This Laurel's configuration: the Application API does not list points systems. */
const configurationOf = async (options: Options): Promise<Configuration> =>
  await askAdmin<Configuration>(options, { method: 'GET', path: '/v1/configuration' });

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
  /** Users to send; absent: all of the file. */
  wanted: ReadonlySet<string> | undefined;
  report: Report;
  sample: number | undefined;
  onProgress: (text: string) => void;
}

/**
 * Imports users and reports each result. Idempotent; skips users of an earlier run. Ends the command if Laurel stays
 * away.
 */
async function sendUsers({ admin, name, dryRun, rows, wanted, report, sample, onProgress }: Sending): Promise<void> {
  let [some, bytes, done] = [[] as { id: string }[], 0, 0];
  /** The results for some users. A user who is too large for this Laurel is refused alone and does not end the command. */
  const sent = async (users: readonly { id: string }[]): Promise<Reported[]> => {
    try {
      const path = `/v1/imports?import=${encodeURIComponent(name)}&dryRun=${dryRun}`;
      return outcomesOf(users, await askPatiently<ImportAnswer>(admin, { method: 'POST', path, body: users }));
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
    const id = (value as { id?: unknown } | null | undefined)?.id;
    if (wanted !== undefined && !wanted.has(id as string)) continue;
    if (taken++ === sample) break;
    if (typeof id !== 'string') {
      await report.add([{ id: `line ${no}`, status: 'refused', why: 'The line is not a JSON object with an `id`.' }]);
      continue;
    }
    report.include(id);
    if (report.isDone(id)) continue;
    const size = Buffer.byteLength(JSON.stringify(value));
    if (some.length === MOST_USERS || bytes + size > MOST_BYTES) await flush();
    some.push(value as { id: string });
    bytes += size;
  }
  await flush();
}

const MOST_SHOWN = 40;
/** Users to name with a reason; the file names all. */
const MOST_NAMED = 3;
const READING: readonly Reported['status'][] = ['read', 'unread'];

class Report {
  readonly file: string;
  private readonly last = new Map<string, Reported['status']>();
  /** The last line about each user that needs attention, for each of the two steps. A later run replaces it. */
  private readonly noted = { reading: new Map<string, Reported>(), sending: new Map<string, Reported>() };
  /** The users of this run. An earlier file of the same name may have had others, whose lines stay in the report file. */
  private readonly current = new Set<string>();

  private constructor(file: string) {
    this.file = file;
  }

  static async open(file: string): Promise<Report> {
    await cutUnfinished(file);
    const report = new Report(file);
    for await (const { value } of jsonLines(file)) report.note(value as Reported);
    return report;
  }

  /** Adds a user to those of this run. */
  include = (id: string): void => void this.current.add(id);

  /** Whether an earlier run imported the user. */
  isDone = (id: string): boolean => ['imported', 'already'].includes(this.last.get(id) ?? '');

  async add(lines: readonly Reported[]): Promise<void> {
    if (lines.length === 0) return;
    await addLines(this.file, lines);
    for (const line of lines) {
      this.current.add(line.id);
      this.note(line);
    }
  }

  private note(line: Reported): void {
    this.last.set(line.id, line.status);
    const noted = READING.includes(line.status) ? this.noted.reading : this.noted.sending;
    const { why, skipped = [], missing = [], unread = [] } = line;
    if (why !== undefined || skipped.length + missing.length + unread.length > 0) noted.set(line.id, line);
    else noted.delete(line.id);
  }

  /** Number of users of whom something was not imported that another run could import. */
  get failed(): number {
    const lost = this.lines.filter(
      ({ why, unread = [], skipped = [] }) =>
        why !== undefined || unread.length > 0 || skipped.some(({ days }) => days > 0),
    );
    return new Set(lost.map(({ id }) => id)).size;
  }

  value(): object {
    return {
      users: Object.fromEntries(this.counts),
      notRead: groupedReasons(this.notRead),
      refused: groupedReasons(this.refused),
      skipped: this.skipped,
      missing: groupedReasons(this.missing),
      file: this.file,
    };
  }

  text(): string {
    const skipped = this.skipped
      .slice(0, MOST_SHOWN)
      .map(({ why, users, days }) => [why, users.length, days, users.slice(0, MOST_NAMED).join(', ')] as const);
    return [
      tableText(['USERS', ''], this.counts),
      reasonsText('NOT READ', this.notRead),
      reasonsText('REFUSED', this.refused),
      ...(skipped.length > 0 ? ['\n', tableText(['SKIPPED', 'USERS', 'DAYS', 'FOR EXAMPLE'], skipped)] : []),
      reasonsText('NOT AVAILABLE OR CHANGED', this.missing),
      `\nEach user: ${this.file}\n`,
    ].join('');
  }

  private get lines(): Reported[] {
    return [...this.ofRun('reading'), ...this.ofRun('sending')];
  }

  private ofRun(step: 'reading' | 'sending'): Reported[] {
    return [...this.noted[step].values()].filter(({ id }) => this.current.has(id));
  }

  private get counts(): [Reported['status'], number][] {
    const counts = new Map<Reported['status'], number>();
    for (const status of ['imported', 'already', 'ready', 'skipped', 'refused', 'unread', 'read'] as const) {
      const count = [...this.last].filter(([id, each]) => each === status && this.current.has(id)).length;
      if (count > 0) counts.set(status, count);
    }
    return [...counts];
  }

  private get notRead(): Reason[] {
    return this.ofRun('reading').flatMap(({ id, why, unread = [] }) =>
      (why === undefined ? unread : [why]).map((each) => ({ id, why: each })),
    );
  }

  private get refused(): Reason[] {
    return this.ofRun('sending').flatMap(({ id, status, why }) =>
      why === undefined || status === 'skipped' ? [] : [{ id, why }],
    );
  }

  private get missing(): Reason[] {
    return this.lines.flatMap(({ id, missing = [] }) => missing.map((why) => ({ id, why })));
  }

  /** Skipped users and parts by reason, with the number of days of history in them. */
  private get skipped(): { why: string; users: string[]; days: number }[] {
    const parts = this.lines.flatMap(({ id, status, why, skipped = [] }) => [
      ...(status === 'skipped' ? [{ id, why: why!, days: 0 }] : []),
      ...skipped.map(({ field, reason, days }) => ({ id, why: `${field}: ${reason}`, days })),
    ]);
    return groupedReasons(parts).map((each) => ({
      ...each,
      days: parts.reduce((sum, { why, days }) => sum + (why === each.why ? days : 0), 0),
    }));
  }
}

function reasonsText(title: string, all: readonly Reason[]): string {
  if (all.length === 0) return '';
  const rows = groupedReasons(all)
    .slice(0, MOST_SHOWN)
    .map(({ why, users }) => [why, users.length, users.slice(0, MOST_NAMED).join(', ')] as const);
  const affected = counted(new Set(all.map(({ id }) => id)).size, 'USER');
  return `\n${tableText([`${title}: ${affected}`, 'USERS', 'FOR EXAMPLE'], rows)}`;
}
