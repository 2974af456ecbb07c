import type { Command } from 'commander';
import { TIMELINE_KINDS } from '../domain/kinds.ts';
import type { Caused, TimelineEntry } from '../domain/administration/timeline.ts';
import type { UserMerge } from '../domain/administration/merge.ts';
import type { User } from '../domain/user.ts';
import { AdminRefusal, askAdmin, askEntries, withAdminOptions, type AdminOptions } from './admin-api.ts';
import {
  confirmed,
  examples,
  EXIT,
  jsonText,
  OUTPUT_FILE,
  print,
  tableText,
  wholeNumber,
  writeDocument,
} from './command.ts';
import { counted } from '../domain/words.ts';
import { addPreferences } from './preferences.ts';

export function addUsers(laurel: Command): void {
  const users = laurel.command('users').description('list users, look into them, export, merge and delete them');
  for (const add of [addList, addTimeline, addPreferences, addExport, addMerge, addDelete]) add(users);
}

const PAGE = 100;
const SHOWN = 50;
const NOT_FOUND = 404;

interface ListOptions extends AdminOptions {
  search?: string;
  after?: string;
  limit: number;
}

function addList(users: Command): void {
  withAdminOptions(users.command('list'))
    .description('list users in the order of their IDs')
    .option('--search <text>', 'only users whose ID, name or e-mail address begins with it')
    .option('--after <id>', 'only users after this one')
    .option('--limit <n>', 'how many at most', wholeNumber, SHOWN)
    .addHelpText('after', examples('users list', 'users list --search ada@ --json', 'users list --limit 999999'))
    .action(async (options: ListOptions) => {
      const list = await usersOf(options);
      const rows = list.map(({ id, name, email, tz, created }) => [id, name, email, tz, created]);
      const head = ['ID', 'NAME', 'EMAIL', 'TIME ZONE', 'CREATED'];
      print(options.json, list, list.length === 0 ? 'There are no such users.\n' : tableText(head, rows));
    });
}

/** The first matching users, up to the requested number. */
async function usersOf({ search, after, limit, ...options }: ListOptions): Promise<User[]> {
  const users: User[] = [];
  for (let page: User[] | null = null; (page === null || page.length === PAGE) && users.length < limit;) {
    const query = new URLSearchParams({ limit: String(PAGE), ...(search && { search }) });
    const last = users.at(-1)?.id ?? after;
    if (last !== undefined) query.set('after', last);
    page = await askAdmin<User[]>(options, { method: 'GET', path: `/v1/users?${query.toString()}` });
    users.push(...page);
  }
  return users.slice(0, limit);
}

const pathOf = (id: string): string => `/v1/users/${encodeURIComponent(id)}`;
/** An export reads a user's whole history. */
const EXPORT_MS = 600_000;

function addExport(users: Command): void {
  withAdminOptions(users.command('export'))
    .description('write everything stored about a user, as one JSON document')
    .argument('<id>', 'of the user')
    .argument('[file]', OUTPUT_FILE, '-')
    .addHelpText('after', examples('users export ada', 'users export ada ada.json'))
    .action(async (id: string, file: string, options: AdminOptions) => {
      const path = `${pathOf(id)}/export`;
      const document = await askAdmin(options, { method: 'GET', path, timeoutMs: EXPORT_MS });
      await writeDocument(file, jsonText(document));
      if (file !== '-') print(options.json, { file }, `Wrote ${file}.\n`);
    });
}

function addDelete(users: Command): void {
  withAdminOptions(users.command('delete'))
    .description('delete users with all their data')
    .argument('<id...>', 'of the users')
    .option('-y, --yes', 'delete without asking')
    .addHelpText('after', examples('users delete ada', 'users delete ada bob --yes'))
    .action(async (ids: string[], { yes = false, ...options }: AdminOptions & { yes?: boolean }) => {
      const what = counted(ids.length, 'user');
      if (!yes)
        await confirmed(`Delete ${what} with all data? It cannot be taken back.`, `this deletes ${what} with all data`);
      const [deleted, unknown]: [string[], string[]] = [[], []];
      try {
        for (const id of ids) ((await remove(options, id)) ? deleted : unknown).push(id);
      } finally {
        // Also after an error: these deletions stay.
        for (const id of unknown) process.stderr.write(`There is no user ${id}.\n`);
        print(options.json, { deleted, unknown }, `Deleted ${counted(deleted.length, 'user')}.\n`);
      }
      if (unknown.length > 0) process.exitCode = EXIT.differs;
    });
}

interface MergeOptions extends AdminOptions {
  dryRun?: boolean;
  acrossControlGroup?: boolean;
  yes?: boolean;
}

function addMerge(users: Command): void {
  withAdminOptions(users.command('merge'))
    .description('merge a user, such as a guest, into another, whose ID is the one that stays')
    .argument('<from>', 'ID of the user who goes; it stands for the other afterwards')
    .argument('<into>', 'ID of the user who stays')
    .option('--dry-run', 'show the result, and change nothing')
    .option('--across-control-group', 'also if only one of the two is in the control group')
    .option('-y, --yes', 'merge without asking')
    .addHelpText('after', examples('users merge guest-7f3a ada --dry-run', 'users merge guest-7f3a ada --yes'))
    .action(async (from: string, into: string, { yes = false, ...rest }: MergeOptions) => {
      const { dryRun = false, acrossControlGroup = false, ...options } = rest;
      if (!yes && !dryRun) await confirmed(`Merge ${from} into ${into}? It cannot be taken back.`, 'this merges users');
      const body = { from, into, dryRun, acrossControlGroup };
      const merge = await askAdmin<UserMerge>(options, { method: 'POST', path: '/v1/users/merge', body });
      print(options.json, merge, mergeText(merge));
    });
}

function mergeText({ status, dryRun, metrics, points, streak, achievements, ...merge }: UserMerge): string {
  const figures = [...Object.entries(metrics), ...Object.entries(points), ['streak', streak] as const];
  const rows = figures.map(([name, { from, into, merged }]) => [name, String(from), String(into), String(merged)]);
  const outcome = status === 'unchanged' ? 'Was merged before' : dryRun ? 'Would be merged' : 'Merged';
  return (
    `${tableText(['', merge.from, merge.into, 'MERGED'], rows)}` +
    `${outcome}: ${counted(achievements.length, 'achievement')}, ${counted(merge.idempotencyKeys, 'idempotency key')}.\n`
  );
}

/** False if there is no such user. */
async function remove(options: AdminOptions, id: string): Promise<boolean> {
  try {
    await askAdmin(options, { method: 'DELETE', path: pathOf(id) });
    return true;
  } catch (error) {
    if (error instanceof AdminRefusal && error.status === NOT_FOUND) return false;
    throw error;
  }
}

interface Options extends AdminOptions {
  kind?: string;
  from?: string;
  to?: string;
  limit: number;
}

function addTimeline(users: Command): void {
  withAdminOptions(users.command('timeline'))
    .description('what happened to a user and what it caused, newest first')
    .argument('<id>', 'of the user')
    .option('--kind <kind>', `only entries of one kind: ${TIMELINE_KINDS.join(', ')}`)
    .option('--from <time>', 'only what happened from then on')
    .option('--to <time>', 'only what happened before then')
    .option('--limit <n>', 'how many at most', wholeNumber, SHOWN)
    .addHelpText('after', examples('users timeline ada', 'users timeline ada --kind achievement --limit 5 --json'))
    .action(async (id: string, options: Options) => {
      const { kind, from, to, limit } = options;
      const query = { kind, from, to, limit };
      const entries = await askEntries<TimelineEntry>(options, `${pathOf(id)}/timeline`, 'entries', query);
      print(options.json, entries, textOf(entries));
    });
}

const HEAD = ['AT', 'WHAT', 'OF', 'CAUSED'];

function textOf(entries: readonly TimelineEntry[]): string {
  if (entries.length === 0) return 'There are no such entries.\n';
  return tableText(
    HEAD,
    entries.map((entry) => [
      entry.at,
      entry.kind,
      subjectOf(entry),
      'caused' in entry ? entry.caused.map(causedText).join('; ') : '',
    ]),
  );
}

function subjectOf(entry: TimelineEntry): string {
  switch (entry.kind) {
    case 'event':
    case 'reversal':
      return `${entry.value} ${entry.metric.name}`;
    case 'quarantine':
      return `${entry.value} ${entry.metric.name}, ${entry.status}: ${entry.guard}`;
    case 'spending':
      return `${entry.type} ${entry.amount} ${entry.pointsSystem.name}, ${entry.balance} left`;
    case 'achievement':
      return entry.achievement.name;
    case 'recomputation':
      return `${entry.action} by ${entry.who}`;
    case 'streak':
      return [entry.change, entry.frequency, entry.who ?? ''].join(' ').trim();
    case 'leaderboard':
      return `${entry.rank === null ? 'not' : `#${entry.rank}`} on ${entry.leaderboard.name}`;
    case 'league':
      return `${entry.previousTier.name ?? entry.previousTier.number} → ${entry.tier.name ?? entry.tier.number} on ${entry.leaderboard.name}`;
    case 'merge':
      return `${entry.from} merged into ${entry.into}${entry.who === null ? '' : ` by ${entry.who}`}`;
    case 'administration':
      return `${entry.action} ${entry.subject} by ${entry.who}`;
    case 'time':
    case 'user_creation':
      return '';
  }
}

function causedText(caused: Caused): string {
  switch (caused.kind) {
    case 'streak':
      return `streak of ${caused.length}`;
    case 'achievement':
      return caused.achievement.name;
    case 'award':
      return `${caused.awarded} ${caused.pointsSystem.name}`;
    case 'level':
      return `level ${caused.level?.name ?? 'none'}`;
    case 'leaderboard':
      return `${caused.change} on ${caused.leaderboard.name}`;
  }
}
