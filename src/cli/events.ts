import { examples, EXIT, print, tableText } from './command.ts';
import type { Command } from 'commander';
import type { EventReversal, ReversalIssue, ReversedEvents } from '../domain/administration/reversal.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';

export function addEvents(laurel: Command): void {
  addReverse(laurel.command('events').description('reverse events'));
}

interface Options extends AdminOptions {
  keys?: string[];
  user?: string;
  metric?: string;
  from?: string;
  to?: string;
  revokeAchievements?: boolean;
  dryRun?: boolean;
}

/** 1,000 events are reversed one after another, each after the previous one is stored. */
const TIMEOUT_MS = 600_000;

function addReverse(events: Command): void {
  withAdminOptions(events.command('reverse'))
    .description('reverse events, as if they had never happened: by ID, by idempotency key, or by user and time')
    .argument('[id...]', 'of events, or of reversals to undo')
    .option('--keys <key...>', 'idempotency keys of the user’s events')
    .option('--user <id>', 'whose events')
    .option('--metric <key>', 'only events of this metric')
    .option('--from <time>', 'the user’s events from then on (ISO 8601)')
    .option('--to <time>', 'the user’s events before then')
    .option('--revoke-achievements', 'revoke the achievements that the events completed')
    .option('--dry-run', 'only show what would change')
    .addHelpText(
      'after',
      examples(
        'events reverse 01939d3c-8f10-7000-8000-000000000001 --dry-run',
        'events reverse --user ada --metric flips --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z',
      ),
    )
    .action(async (ids: string[], options: Options) => {
      const { keys, user, metric, from, to, revokeAchievements = false, dryRun = false } = options;
      const body = {
        eventIds: ids.length > 0 ? ids : undefined,
        idempotencyKeys: keys,
        userId: user,
        metricKey: metric,
        from,
        to,
        revokeAchievements,
        dryRun,
      };
      const answer = await askAdmin(options, {
        method: 'POST',
        path: '/v1/events/reverse',
        body,
        timeoutMs: TIMEOUT_MS,
      });
      const reversed = answer as ReversedEvents;
      print(options.json, reversed, textOf(reversed));
      if (reversed.issues.length > 0) process.exitCode = EXIT.failed;
    });
}

const HEAD = ['EVENT', 'STATUS', 'USER', 'METRIC', 'VALUE', 'TOTAL', 'STREAK', 'POINTS', 'ACHIEVEMENTS'];

function textOf({ reversals, issues }: ReversedEvents): string {
  const dry = reversals.some(({ dryRun }) => dryRun)
    ? `Nothing is changed. This would be the result${reversals.length > 1 ? ', each by itself' : ''}.\n`
    : '';
  const table = reversals.length === 0 ? 'No events are reversed.\n' : tableText(HEAD, reversals.map(row));
  return dry + table + issues.map(issueText).join('');
}

const row = (reversal: EventReversal): (string | number | null)[] => [
  reversal.eventId,
  reversal.status,
  reversal.userId,
  reversal.metricKey,
  reversal.value,
  reversal.total,
  reversal.streak,
  reversal.points.map(({ key, changed, total }) => `${key} ${changed} → ${total}`).join(' '),
  [
    ...reversal.revokedAchievements.map((key) => `-${key}`),
    ...reversal.restoredAchievements.map((key) => `+${key}`),
  ].join(' '),
];

const issueText = ({ eventId, idempotencyKey, message }: ReversalIssue): string =>
  `${eventId ?? idempotencyKey ?? ''}: ${message}\n`;
