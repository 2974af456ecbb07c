import {
  agreed,
  CommandError,
  confirmed,
  examples,
  EXIT,
  jsonText,
  OUTPUT_FILE,
  print,
  tableText,
  wholeNumber,
  wholeNumberOrZero,
  writeDocument,
} from './command.ts';
import { type Command, Option } from 'commander';
import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import type { ConfigurationChange, ConfigurationVersion, DemoChoice, DemoResource } from '../domain/configuration.ts';
import { changedText, counted, valueText } from '../domain/words.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';
import type { Pulled } from './source-configuration.ts';
import { type Source, type SourceFlags, sourceOf } from './source.ts';

export function addConfig(laurel: Command): void {
  const config = laurel
    .command('config')
    .description('read and change the configuration of a running Laurel as a file');
  for (const add of [addPull, addDiff, addPush, addVersions, addRestore]) add(config);
}

type PullOptions = AdminOptions & Omit<SourceFlags, 'from'> & { from?: string; partial?: boolean; ofVersion?: number };

function addPull(config: Command): void {
  withAdminOptions(config.command('pull'))
    .description('write the configuration to a file or to standard output')
    .argument('[file]', OUTPUT_FILE, '-')
    .option('--from <url>', 'the Admin API of another server of the same contract, to read instead of this Laurel')
    .addOption(ofVersionOption('write an earlier version').conflicts('from'))
    .addOption(new Option('--from-key <key>', 'an admin key there').env('SOURCE_API_KEY'))
    .option('--from-tenant <id>', 'the tenant there')
    .option('--rate <n>', 'requests a second at most to the source; by default what its headers allow', wholeNumber)
    .option('--partial', 'with --from: keep lists of which some items cannot be read')
    .addHelpText(
      'after',
      examples(
        'config pull laurel.json',
        'config pull earlier.json --of-version 12',
        'config pull laurel.json --from https://api.example.org/v1 --from-key $SOURCE_API_KEY',
      ),
    )
    .action(async (file: string, { from, partial = false, ofVersion, ...options }: PullOptions) => {
      const { document, unseen } =
        from === undefined
          ? { document: await readConfiguration(options, ofVersion), unseen: [] }
          : await readFrom(sourceOf({ ...options, from }), partial);
      await writeDocument(file, jsonText(document));
      if (file !== '-') {
        const resources = countsOf(document as object);
        print(options.json, { file, resources }, `Wrote ${file}: ${countsText(resources)}.\n`);
      }
      if (unseen.length > 0)
        process.stderr.write(`Not seen at the source:\n${unseen.map((line) => `  ${line}\n`).join('')}`);
    });
}

const ofVersionOption = (description: string): Option =>
  new Option('--of-version <n>', `${description}; \`laurel config versions\` lists them`).argParser(wholeNumber);

/** The current document, or that of a version. */
const readConfiguration = async (options: AdminOptions, version?: number): Promise<object> => {
  const path = version === undefined ? '/v1/configuration' : `/v1/configuration/versions/${version}`;
  return await askAdmin<object>(options, { method: 'GET', path });
};

const countsOf = (document: object): Record<string, number> =>
  Object.fromEntries(
    Object.entries(document).flatMap(([name, list]) => (Array.isArray(list) ? [[name, list.length]] : [])),
  );

/** The names of the lists come first, because `1 pointsSystems` would read badly. */
function countsText(resources: Record<string, number>): string {
  const counts = Object.entries(resources).filter(([, count]) => count > 0);
  return counts.length === 0 ? 'nothing is configured' : counts.map(([name, count]) => `${name} ${count}`).join(', ');
}

/** Loads TypeBox, which checks the source's answers, only when needed. */
async function readFrom(source: Source, partial: boolean): Promise<Pulled> {
  const { pullSource } = await import('./source-configuration.ts');
  return pullSource(source, { partial });
}

/** The changes that a push would make, and the demo resources that it would keep without naming them. */
async function changesBy(
  options: AdminOptions,
  document: object,
  choice?: DemoChoice,
): Promise<{ changes: Change[]; demo: DemoResource[] }> {
  const path = `/v1/configuration/diff${demoQuery(choice ?? 'remove')}`;
  return await askAdmin<{ changes: Change[]; demo: DemoResource[] }>(options, { method: 'POST', path, body: document });
}

function addDiff(config: Command): void {
  withAdminOptions(config.command('diff'))
    .description(
      'show what a push of the file would change; exit code 0: nothing, 1: something, 2: the file is invalid',
    )
    .argument('[file]', 'JSON, as `laurel config pull` writes it; `-` is standard input')
    .addOption(ofVersionOption('instead of a file: show what restoring this version would change'))
    .addHelpText(
      'after',
      examples(
        'config diff laurel.json',
        'config diff laurel.json --json | jq .changes',
        'config diff --of-version 12',
      ),
    )
    .action(async (file: string | undefined, { ofVersion, ...options }: AdminOptions & { ofVersion?: number }) => {
      if ((file === undefined) === (ofVersion === undefined))
        throw new CommandError('Name either a file or --of-version.');
      const document = file === undefined ? await readConfiguration(options, ofVersion) : await readDocument(file);
      const { changes, demo } = await changesBy(options, document);
      print(options.json, { changes, demo }, changesText(changes));
      if (demo.length > 0) {
        process.stderr.write(
          `The demo is configured here, and the file does not name ${counted(demo.length, 'resource')} of it. ` +
            'These changes include their removal (--remove-demo); --keep-demo keeps them.\n',
        );
      }
      if (changes.length > 0) process.exitCode = EXIT.differs;
    });
}

function addPush(config: Command): void {
  withAdminOptions(config.command('push'))
    .description('apply the file; lists that it does not contain stay unchanged')
    .argument('<file>', 'JSON, as `laurel config pull` writes it; `-` is standard input')
    .option('-y, --yes', 'archive without asking')
    .option('--remove-demo', 'archive the demo resources that the file does not contain, without asking')
    .option('--keep-demo', 'keep the demo resources that the file does not contain as your own')
    .addHelpText('after', examples('config push laurel.json', 'config push laurel.json --yes --remove-demo'))
    .action(async (file: string, options: PushOptions) => push(await readDocument(file), options));
}

type PushOptions = AdminOptions & DemoFlags & { yes?: boolean };

/** Shows what the document changes, asks before anything is archived, and applies it. */
async function push(document: object, { yes, ...options }: PushOptions): Promise<void> {
  const flag = demoFlag(options);
  const { changes: foreseen, demo } = await changesBy(options, document, flag);
  if (options.json !== true) process.stdout.write(changesText(foreseen));
  const choice = flag ?? (await askAboutDemo(demo));
  // Keeping the demo turns it into regular resources, even without other changes.
  if (foreseen.length === 0 && choice === undefined) {
    print(options.json, { version: null, changes: [] }, '');
    return;
  }
  const asksFor = foreseen.filter(({ action, demo }) => action === 'delete' && !(demo && choice === 'remove'));
  if (yes !== true) await confirmArchiving(asksFor);
  const path = `/v1/configuration${demoQuery(choice)}`;
  const answer = await askAdmin(options, { method: 'PUT', path, body: document });
  const { version, changes } = answer as { version: number; changes: Change[] };
  // The configuration may have changed since the question.
  if (options.json !== true && JSON.stringify(changes) !== JSON.stringify(foreseen))
    process.stdout.write(`The configuration had changed meanwhile. What this push did:\n${changesText(changes)}`);
  print(options.json, { version, changes }, `Done: version ${version}.\n`);
}

interface VersionsOptions extends AdminOptions {
  limit: number;
  skip: number;
}

function addVersions(config: Command): void {
  withAdminOptions(config.command('versions'))
    .description('list the versions of the configuration, newest first: who made each, when, and what it changed')
    .option('--limit <n>', 'at most so many, up to 100', wholeNumber, 20)
    .option('--skip <n>', 'how many of the newest to skip', wholeNumberOrZero, 0)
    .addHelpText('after', examples('config versions', 'config versions --limit 100 --skip 100'))
    .action(async ({ limit, skip, ...options }: VersionsOptions) => {
      const path = `/v1/configuration/versions?limit=${limit}&skip=${skip}`;
      const versions = await askAdmin<ConfigurationVersion[]>(options, { method: 'GET', path });
      const rows = versions.map((one) => [one.version, one.at, one.who, summaryOf(one)]);
      print(options.json, versions, tableText(['VERSION', 'AT', 'WHO', 'CHANGES'], rows));
    });
}

const NAMED_CHANGES = 3;

function summaryOf({ changes, changeCount }: ConfigurationVersion): string {
  const named = changes
    .slice(0, NAMED_CHANGES)
    .map(({ action, kind, name }) => `${action} ${changedText({ kind, name })}`);
  const more = changeCount - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

function addRestore(config: Command): void {
  withAdminOptions(config.command('restore'))
    .description('push the document of an earlier version, which makes a new version')
    .argument('<version>', 'as `laurel config versions` lists it', wholeNumber)
    .option('-y, --yes', 'archive without asking')
    .addHelpText('after', examples('config restore 12', 'config restore 12 --yes'))
    .action(async (version: number, options: PushOptions) => push(await readConfiguration(options, version), options));
}

/** Resolves when nothing is archived, or the user agrees. */
async function confirmArchiving(archived: Change[]): Promise<void> {
  const count = archived.length;
  if (count === 0) return;
  const ofDemo = archived.filter(({ demo }) => demo).length;
  const some = ofDemo === 0 ? `${count}` : `${count} (${ofDemo === count ? 'all' : ofDemo} of the demo)`;
  const takes = ofDemo === count ? '--remove-demo or --yes' : '--yes';
  await confirmed(
    `Archive ${some}? Their history stays, but they cannot be taken back.`,
    `this archives ${some}`,
    takes,
  );
}

interface DemoFlags {
  removeDemo?: boolean;
  keepDemo?: boolean;
}

const demoQuery = (choice: DemoChoice | undefined): string => (choice === undefined ? '' : `?demo=${choice}`);

/** The choice about the demo in the options; `undefined` if there is none. */
function demoFlag({ removeDemo, keepDemo }: DemoFlags): DemoChoice | undefined {
  if (removeDemo && keepDemo) throw new CommandError('--remove-demo and --keep-demo exclude each other.');
  return removeDemo ? 'remove' : keepDemo ? 'keep' : undefined;
}

/** Asks about demo resources that a file does not name; `undefined` if there is nothing to ask. May end the command. */
async function askAboutDemo(left: DemoResource[]): Promise<DemoChoice | undefined> {
  if (left.length === 0) return undefined;
  const demo = `The demo is configured here, and the file does not name ${counted(left.length, 'resource')} of it.`;
  if (!process.stdin.isTTY)
    throw new CommandError(
      `Nothing was changed. ${demo} Say --remove-demo (the changes are then these), or --keep-demo to keep them as your own.`,
    );
  if (await agreed(`${demo} Remove them, as above? [y/N] `)) return 'remove';
  throw new CommandError('Nothing was changed. --keep-demo keeps them as your own.');
}

type Change = ConfigurationChange;

const SIGNS = { create: '+', update: '~', delete: '-' } as const;
const DONE = { create: 'created', update: 'changed', delete: 'archived' } as const;

function changesText(changes: Change[]): string {
  if (changes.length === 0) return 'No differences.\n';
  const lines = changes.flatMap((change) => [`${SIGNS[change.action]} ${changedText(change)}`, ...fieldLines(change)]);
  const counts = (['create', 'update', 'delete'] as const).flatMap((action) => {
    const count = changes.filter((change) => change.action === action).length;
    return count === 0 ? [] : [`${count} ${DONE[action]}`];
  });
  return `${[...lines, counts.join(', ')].join('\n')}\n`;
}

function fieldLines({ fields, before, after }: Change): string[] {
  return (fields ?? []).map((field) => `    ${field}: ${valueText(before?.[field])} → ${valueText(after?.[field])}`);
}

/** Reads a document; `-` means standard input. Ends the command with the line number if it is invalid. */
export async function readDocument(path: string): Promise<object> {
  const file = path === '-' ? 'Standard input' : path;
  const reading = path === '-' ? textOf(process.stdin) : readFile(path, 'utf8');
  const text = await reading.catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      `${file} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}.`,
    );
  });
  let document: unknown;
  try {
    document = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new CommandError(`${file}${lineOf(error as Error, text)} is not valid JSON: ${(error as Error).message}`);
  }
  if (document === null || typeof document !== 'object' || Array.isArray(document))
    throw new CommandError(`${file} must hold an object, as \`laurel config pull\` writes it.`);
  return document;
}

/** `:3` for a fault in the third line, if the parser reports a position. */
function lineOf({ message }: Error, text: string): string {
  const position = /at position (\d+)/.exec(message)?.[1];
  const at = position === undefined ? (/end of JSON input/.test(message) ? text.length : null) : Number(position);
  return at === null ? '' : `:${text.slice(0, at).split('\n').length}`;
}
