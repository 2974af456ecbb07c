import type { Command } from 'commander';
import { TIMELINE_KINDS } from '../domain/kinds.ts';
import type { Caused, TimelineEntry, TimelinePage } from '../domain/administration/timeline.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';
import { examples, print, tableText, wholeNumber } from './command.ts';

export function addUsers(laurel: Command): void {
  addTimeline(laurel.command('users').description('look into users'));
}

const PAGE = 100;
const SHOWN = 50;

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
      const found = await entriesOf(options, id);
      print(options.json, found, textOf(found));
    });
}

/** The newest matching entries, up to the requested number. */
async function entriesOf(options: Options, id: string): Promise<TimelineEntry[]> {
  const { kind, from, to, limit } = options;
  const given = Object.entries({ kind, from, to }).filter(([, value]) => value !== undefined);
  const found: TimelineEntry[] = [];
  for (let cursor: string | null = ''; cursor !== null && found.length < limit;) {
    const query = new URLSearchParams(given as [string, string][]);
    query.set('limit', String(Math.min(PAGE, limit - found.length)));
    if (cursor !== '') query.set('cursor', cursor);
    const path = `/v1/users/${encodeURIComponent(id)}/timeline?${query.toString()}`;
    const page = (await askAdmin(options, { method: 'GET', path })) as TimelinePage;
    found.push(...page.entries);
    cursor = page.nextCursor;
  }
  return found;
}

const HEAD = ['AT', 'WHAT', 'OF', 'CAUSED'];

function textOf(found: readonly TimelineEntry[]): string {
  if (found.length === 0) return 'There are no such entries.\n';
  return tableText(
    HEAD,
    found.map((entry) => [
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
