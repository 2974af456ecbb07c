import { agreed, CommandError, counted, examples, EXIT, jsonText, print } from './command.ts';
import type { Command } from 'commander';
import type { DeletedResources } from '../domain/administration/admin.ts';
import type { DeadLetter } from '../domain/administration/dead-letters.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';

export function addDeadLetters(laurel: Command): void {
  const letters = laurel
    .command('dead-letters')
    .description('entries of the outbox that could not be stored completely and were set aside');
  for (const add of [addList, addShow, addRetry, addDrop]) add(letters);
}

const PAGE = 100;

function addList(letters: Command): void {
  withAdminOptions(letters.command('list'))
    .description('list the waiting ones, oldest first')
    .option('--all', 'include those stored since')
    .addHelpText('after', examples('dead-letters list', 'dead-letters list --all --json'))
    .action(async ({ all, ...options }: AdminOptions & { all?: boolean }) => {
      const found: DeadLetter[] = [];
      for (let skip = 0; ; skip += PAGE) {
        const status = all === true ? '' : '&status=waiting';
        const path = `/v1/dead-letters?limit=${PAGE}&skip=${skip}${status}`;
        const page = (await askAdmin(options, { method: 'GET', path })) as DeadLetter[];
        found.push(...page);
        if (page.length < PAGE) break;
      }
      print(options.json, found, found.length === 0 ? 'There are no dead letters.\n' : found.map(lineOf).join(''));
    });
}

/** One per line. The reason comes last because it contains spaces. */
const lineOf = ({ id, created, status, shard, tenantNo, parts, reason }: DeadLetter): string =>
  `${id}  ${created}  ${status}  shard ${shard}  tenant ${tenantNo ?? '?'}  parts ${parts.length}  ${reason}\n`;

function addShow(letters: Command): void {
  withAdminOptions(letters.command('show'))
    .description('show one as JSON: the parts that are not stored, the reasons and the entry, with personal data')
    .argument('<id>', 'ID from `laurel dead-letters list`')
    .addHelpText('after', examples('dead-letters show 01939d3c-8f10-7000-8000-000000000001'))
    .action(async (id: string, options: AdminOptions) => {
      const letter = await askAdmin(options, { method: 'GET', path: `/v1/dead-letters/${encodeURIComponent(id)}` });
      process.stdout.write(jsonText(letter));
    });
}

/** Adds `laurel dead-letters retry <id…>`. Exit code 1 if something still cannot be stored. */
function addRetry(letters: Command): void {
  withAdminOptions(letters.command('retry'))
    .description('store the missing parts, after their cause is removed')
    .argument('<id...>', 'IDs from `laurel dead-letters list`')
    .addHelpText('after', examples('dead-letters retry 01939d3c-8f10-7000-8000-000000000001'))
    .action(async (ids: string[], options: AdminOptions) => {
      const tried: DeadLetter[] = [];
      for (const id of ids) {
        const path = `/v1/dead-letters/${encodeURIComponent(id)}/retry`;
        const letter = (await askAdmin(options, { method: 'POST', path })) as DeadLetter;
        const { status, reason } = letter;
        tried.push(letter);
        if (options.json !== true)
          process.stdout.write(`${id}  ${status === 'stored' ? 'stored' : `still waits: ${reason}`}\n`);
        if (status !== 'stored') process.exitCode = EXIT.differs;
      }
      print(options.json, tried, '');
    });
}

function addDrop(letters: Command): void {
  withAdminOptions(letters.command('drop'))
    .description('delete them; the parts that are not stored are lost')
    .argument('<id...>', 'IDs from `laurel dead-letters list`')
    .option('-y, --yes', 'drop without asking')
    .addHelpText('after', examples('dead-letters drop 01939d3c-8f10-7000-8000-000000000001 --yes'))
    .action(async (ids: string[], { yes, ...options }: AdminOptions & { yes?: boolean }) => {
      if (yes !== true) await confirm(ids.length);
      const query = ids.map((id) => `ids=${encodeURIComponent(id)}`).join('&');
      const answer = await askAdmin(options, { method: 'DELETE', path: `/v1/dead-letters?${query}` });
      const { deleted, issues } = answer as DeletedResources;
      print(options.json, { deleted, issues }, deleted.map(({ id }) => `${id}  dropped\n`).join(''));
      for (const { id, message } of issues) process.stderr.write(`${id}  ${message}\n`);
      if (issues.length > 0) process.exitCode = EXIT.differs;
    });
}

async function confirm(count: number): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandError('Nothing was dropped: without a terminal it takes --yes.');
  if (!(await agreed(`Drop ${counted(count, 'dead letter')}? The parts that are not stored are lost. [y/N] `)))
    throw new CommandError('Nothing was dropped.');
}
