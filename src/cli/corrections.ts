import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeletedResources } from '../domain/administration/admin.ts';
import type { DeadLetter } from '../domain/administration/dead-letters.ts';
import type { Recomputation, RecomputationDetails, RecomputedUser } from '../domain/administration/recomputation.ts';
import type { EventReversal, ReversalIssue, ReversedEvents } from '../domain/administration/reversal.ts';
import { RECOMPUTED_KINDS } from '../domain/kinds.ts';
import { type AdminOptions, askAdmin, askSkipping, withAdminOptions, withEach } from './admin-api.ts';
import { agreed, CommandError, examples, EXIT, jsonText, print, progressBar, tableText } from './command.ts';
import { counted } from '../domain/words.ts';

export function addEvents(laurel: Command): void {
  addReverse(laurel.command('events').description('reverse events'));
}

interface ReverseOptions extends AdminOptions {
  keys?: string[];
  user?: string;
  metric?: string;
  from?: string;
  to?: string;
  revokeAchievements?: boolean;
  dryRun?: boolean;
}

/** 1,000 events are reversed one after another, each after the previous one is stored. */
const REVERSE_TIMEOUT_MS = 600_000;

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
    .action(async (ids: string[], options: ReverseOptions) => {
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
        timeoutMs: REVERSE_TIMEOUT_MS,
      });
      const reversed = answer as ReversedEvents;
      print(options.json, reversed, reversalsText(reversed));
      if (reversed.issues.length > 0) process.exitCode = EXIT.failed;
    });
}

const REVERSALS_HEAD = [
  'EVENT',
  'STATUS',
  'USER',
  'METRIC',
  'VALUE',
  'TOTAL',
  'STREAK',
  'POINTS',
  'ACHIEVEMENTS',
  'LEADERBOARDS',
];

function reversalsText({ reversals, issues }: ReversedEvents): string {
  const dry = reversals.some(({ dryRun }) => dryRun)
    ? `Nothing is changed. This would be the result${reversals.length > 1 ? ', each by itself' : ''}.\n`
    : '';
  const table =
    reversals.length === 0 ? 'No events are reversed.\n' : tableText(REVERSALS_HEAD, reversals.map(reversalRow));
  return dry + table + reversals.flatMap(finalRunsText).join('') + issues.map(issueText).join('');
}

const reversalRow = (reversal: EventReversal): (string | number | null)[] => [
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
  reversal.leaderboards
    .map(({ leaderboardKey, previousValue, value }) => `${leaderboardKey} ${previousValue ?? '-'} → ${value ?? '-'}`)
    .join(' '),
];

const finalRunsText = ({ eventId, finalRuns }: EventReversal): string[] =>
  finalRuns.map(
    ({ leaderboardKey, start, rank, rankWithout, rewardsDiffer }) =>
      `${eventId}: the final run of ${start} on ${leaderboardKey} keeps rank ${rank ?? 'none'}; without the event: ${rankWithout ?? 'none'}${rewardsDiffer ? ', with other rewards' : ''}\n`,
  );

const issueText = ({ eventId, idempotencyKey, message }: ReversalIssue): string =>
  `${eventId ?? idempotencyKey ?? ''}: ${message}\n`;

export function addRecompute(laurel: Command): void {
  const recompute = laurel
    .command('recompute')
    .description('recompute what users have under the current rules: plan, apply or undo it');
  for (const add of [addPlan, addRecomputations, addShowRecomputation, addSteps]) add(recompute);
}

const RECOMPUTATIONS_HEAD = ['ID', 'STATUS', 'WHAT', 'USERS', 'GAINING', 'LOSING', 'REQUESTED', 'BY'];

function addRecomputations(recompute: Command): void {
  withAdminOptions(recompute.command('list'))
    .description('the latest recomputations, newest first')
    .addHelpText('after', examples('recompute list'))
    .action(async (options: AdminOptions) => {
      const jobs = await askAdmin<Recomputation[]>(options, { method: 'GET', path: '/v1/recomputations' });
      print(options.json, jobs, tableText(RECOMPUTATIONS_HEAD, jobs.map(recomputationRow)));
    });
}

function recomputationRow(job: Recomputation): (string | number)[] {
  const { id, status, request, figures, requested, requestedBy } = job;
  const { users, gaining, losing } = figures;
  return [id, status, request.what.join(' '), users, gaining, losing, requested, requestedBy];
}

function addShowRecomputation(recompute: Command): void {
  withAdminOptions(recompute.command('show'))
    .description('a recomputation: its figures, and some of its users')
    .argument('<id>', 'of the recomputation')
    .addHelpText('after', examples('recompute show 01939d3c-8f10-7000-8000-000000000001'))
    .action(async (id: string, options: AdminOptions) => {
      const job = await readOne(options, id);
      print(options.json, job, planText(job));
    });
}

interface RecomputeOptions extends AdminOptions {
  what: string[];
  since?: string;
  userAttributes?: string;
  mayRevoke?: boolean;
  apply?: boolean;
}

function addPlan(recompute: Command): void {
  withAdminOptions(recompute.command('start'))
    .description('plan what users would have under the current rules, and show it; with --apply, also apply it')
    .option('--what <kind...>', RECOMPUTED_KINDS.join(', '), [...RECOMPUTED_KINDS])
    .option('--since <day>', 'change only what was awarded and completed since a day (YYYY-MM-DD)')
    .option('--user-attributes <pairs>', 'only users with these attributes: attribute:value,…')
    .option('--may-revoke', 'users may have less afterwards')
    .option('--apply', 'apply the plan as soon as it is made')
    .addHelpText(
      'after',
      examples('recompute start --what points --since 2026-03-01', 'recompute start --may-revoke --apply'),
    )
    .action(async ({ what, since, userAttributes, mayRevoke = false, apply = false, ...options }: RecomputeOptions) => {
      const body = { what, since, cohort: { userAttributes }, mayRevoke, dryRun: !apply };
      const begun = await askAdmin(options, { method: 'POST', path: '/v1/recomputations', body });
      const job = await watched(options, begun as Recomputation);
      const next =
        job.status === 'planned' ? `\nNothing is changed. To apply it: laurel recompute apply ${job.id}\n` : '';
      print(options.json, job, planText(job) + next);
    });
}

export const STEPS = {
  apply: 'apply a plan, and wait until it is done',
  revert: 'undo a recomputation, and wait until it is done',
  cancel: 'cancel a planned or running recomputation; applied changes stay',
} as const;

function addSteps(recompute: Command): void {
  for (const [step, description] of Object.entries(STEPS))
    withAdminOptions(recompute.command(step))
      .description(description)
      .argument('<id>', 'of the recomputation')
      .addHelpText('after', examples(`recompute ${step} 01939d3c-8f10-7000-8000-000000000001`))
      .action(async (id: string, options: AdminOptions) => {
        const begun = await askAdmin(options, { method: 'POST', path: `${pathOf(id)}/${step}` });
        const job = await watched(options, begun as Recomputation);
        print(options.json, job, planText(job));
      });
}

const LOOK_MS = 500;
const UNDER_WAY: readonly string[] = ['planning', 'applying', 'reverting'];

const pathOf = (id: string): string => `/v1/recomputations/${encodeURIComponent(id)}`;

const readOne = async (options: AdminOptions, id: string): Promise<RecomputationDetails> =>
  await askAdmin<RecomputationDetails>(options, { method: 'GET', path: pathOf(id) });

/** Follows a recomputation until it is finished, and reports progress on standard error. Ends the command if it fails. */
async function watched(options: AdminOptions, { id }: Recomputation): Promise<RecomputationDetails> {
  const report = progressBar();
  for (;;) {
    const job = await readOne(options, id);
    const { users, of } = job.progress;
    report({ step: job.status, done: users, total: of });
    if (!UNDER_WAY.includes(job.status)) report(null);
    if (job.status === 'failed') throw new CommandError(`The recomputation failed: ${job.error ?? 'unknown'}`);
    if (!UNDER_WAY.includes(job.status)) return job;
    await sleep(LOOK_MS);
  }
}

const FIGURES_HEAD = ['WHAT', 'GAINING', 'LOSING', 'GIVEN', 'TAKEN', 'MOVING'];
const USERS_HEAD = ['USER', 'GETS', 'LOSES', 'POINTS', 'BOARDS', 'STATUS', 'REASON'];

function planText({ id, status, figures, outcome, samples }: RecomputationDetails): string {
  const { users, gaining, losing, unchanged, failed } = figures;
  const { applied, reverted, skipped } = outcome;
  const rows = [
    ...figures.achievements.map(({ key, name, gaining: gains, losing: loses }) => [
      key ?? name,
      gains,
      loses,
      null,
      null,
      null,
    ]),
    ...figures.points.map(({ key, gaining: gains, losing: loses, given, taken }) => [
      key,
      gains,
      loses,
      given,
      taken,
      null,
    ]),
    // Scores that only change their group neither gain nor lose.
    ...figures.boards.map(({ key, gaining: gains, losing: loses, moving }) => [
      `${key} (board)`,
      gains,
      loses,
      null,
      null,
      moving,
    ]),
  ];
  const some: RecomputedUser[] = [];
  for (const user of [...samples.gaining, ...samples.losing, ...samples.left])
    if (!some.some(({ userId }) => userId === user.userId)) some.push(user);
  return [
    `${id}  ${status}\n`,
    `${counted(users, 'user')}: ${users - unchanged - failed} changed (gaining: ${gaining}, losing: ${losing}), ` +
      `${unchanged} unchanged, ${failed} not planned because of an error.\n`,
    applied + reverted + skipped === 0 ? '' : `Applied: ${applied}, reverted: ${reverted}, left out: ${skipped}.\n`,
    rows.length === 0 ? '' : `\n${tableText(FIGURES_HEAD, rows)}`,
    some.length === 0 ? '' : `\n${tableText(USERS_HEAD, some.map(userRow))}`,
  ].join('');
}

const scoreText = ({ key, run, from, to, moves }: RecomputedUser['boards'][number]): string =>
  `${key} (${run}) ${from} → ${to}${moves ? ' in another group' : ''}`;

const userRow = ({ userId, gained, lost, points, boards, status, reason }: RecomputedUser): (string | null)[] => [
  userId,
  gained.join(' '),
  lost.join(' '),
  points.map(({ key, from, to }) => `${key} ${from} → ${to}`).join(' '),
  boards.map(scoreText).join(' '),
  status,
  reason,
];

export function addDeadLetters(laurel: Command): void {
  const letters = laurel
    .command('dead-letters')
    .description('entries of the outbox that could not be stored completely and were set aside');
  for (const add of [addLetters, addShowLetter, addRetryLetter, addDropLetters]) add(letters);
}

function addLetters(letters: Command): void {
  withAdminOptions(letters.command('list'))
    .description('list the waiting ones, oldest first')
    .option('--all', 'include those stored since')
    .addHelpText('after', examples('dead-letters list', 'dead-letters list --all --json'))
    .action(async ({ all, ...options }: AdminOptions & { all?: boolean }) => {
      const query = { limit: Infinity, status: all === true ? undefined : 'waiting' };
      const loaded = await askSkipping<DeadLetter>(options, '/v1/dead-letters', query);
      print(
        options.json,
        loaded,
        loaded.length === 0 ? 'There are no dead letters.\n' : loaded.map(letterLine).join(''),
      );
    });
}

/** One per line. The reason comes last because it contains spaces. */
const letterLine = ({ id, created, status, shard, tenantNo, parts, reason }: DeadLetter): string =>
  `${id}  ${created}  ${status}  shard ${shard}  tenant ${tenantNo ?? '?'}  parts ${parts.length}  ${reason}\n`;

function addShowLetter(letters: Command): void {
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
function addRetryLetter(letters: Command): void {
  withAdminOptions(letters.command('retry'))
    .description('store the missing parts, after their cause is removed')
    .argument('<id...>', 'IDs from `laurel dead-letters list`')
    .addHelpText('after', examples('dead-letters retry 01939d3c-8f10-7000-8000-000000000001'))
    .action(async (ids: string[], options: AdminOptions) => {
      const tried = await withEach(ids, async (id) => {
        const path = `/v1/dead-letters/${encodeURIComponent(id)}/retry`;
        const letter = await askAdmin<DeadLetter>(options, { method: 'POST', path });
        const { status, reason } = letter;
        if (options.json !== true)
          process.stdout.write(`${id}  ${status === 'stored' ? 'stored' : `still waits: ${reason}`}\n`);
        if (status !== 'stored') process.exitCode = EXIT.differs;
        return letter;
      });
      print(options.json, tried, '');
    });
}

function addDropLetters(letters: Command): void {
  withAdminOptions(letters.command('drop'))
    .description('delete them; the parts that are not stored are lost')
    .argument('<id...>', 'IDs from `laurel dead-letters list`')
    .option('-y, --yes', 'drop without asking')
    .addHelpText('after', examples('dead-letters drop 01939d3c-8f10-7000-8000-000000000001 --yes'))
    .action(async (ids: string[], { yes, ...options }: AdminOptions & { yes?: boolean }) => {
      if (yes !== true) await confirmDrop(ids.length);
      const query = ids.map((id) => `ids=${encodeURIComponent(id)}`).join('&');
      const answer = await askAdmin(options, { method: 'DELETE', path: `/v1/dead-letters?${query}` });
      const { deleted, issues } = answer as DeletedResources;
      print(options.json, { deleted, issues }, deleted.map(({ id }) => `${id}  dropped\n`).join(''));
      for (const { id, message } of issues) process.stderr.write(`${id}  ${message}\n`);
      if (issues.length > 0) process.exitCode = EXIT.differs;
    });
}

async function confirmDrop(count: number): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandError('Nothing was dropped: without a terminal it takes --yes.');
  if (!(await agreed(`Drop ${counted(count, 'dead letter')}? The parts that are not stored are lost. [y/N] `)))
    throw new CommandError('Nothing was dropped.');
}
