import { CommandError, counted, examples, print, progressBar, tableText } from './command.ts';
import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Recomputation, RecomputationDetails, RecomputedUser } from '../domain/administration/recomputation.ts';
import { RECOMPUTED_KINDS } from '../domain/kinds.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';

export function addRecompute(laurel: Command): void {
  const recompute = laurel
    .command('recompute')
    .description('recompute what users have under the current rules: plan, apply or undo it');
  for (const add of [addStart, addList, addShow, addSteps]) add(recompute);
}

const LIST_HEAD = ['ID', 'STATUS', 'WHAT', 'USERS', 'GAINING', 'LOSING', 'REQUESTED', 'BY'];

function addList(recompute: Command): void {
  withAdminOptions(recompute.command('list'))
    .description('the latest recomputations, newest first')
    .addHelpText('after', examples('recompute list'))
    .action(async (options: AdminOptions) => {
      const jobs = (await askAdmin(options, { method: 'GET', path: '/v1/recomputations' })) as Recomputation[];
      print(options.json, jobs, tableText(LIST_HEAD, jobs.map(row)));
    });
}

const row = ({ id, status, request, figures, requested, requestedBy }: Recomputation): (string | number)[] => [
  id,
  status,
  request.what.join(' '),
  figures.users,
  figures.gaining,
  figures.losing,
  requested,
  requestedBy,
];

function addShow(recompute: Command): void {
  withAdminOptions(recompute.command('show'))
    .description('a recomputation: its figures, and some of its users')
    .argument('<id>', 'of the recomputation')
    .addHelpText('after', examples('recompute show 01939d3c-8f10-7000-8000-000000000001'))
    .action(async (id: string, options: AdminOptions) => {
      const job = await readOne(options, id);
      print(options.json, job, planText(job));
    });
}

interface Options extends AdminOptions {
  what: string[];
  since?: string;
  userAttributes?: string;
  mayRevoke?: boolean;
  apply?: boolean;
}

function addStart(recompute: Command): void {
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
    .action(async ({ what, since, userAttributes, mayRevoke = false, apply = false, ...options }: Options) => {
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
  (await askAdmin(options, { method: 'GET', path: pathOf(id) })) as RecomputationDetails;

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

const HEAD = ['WHAT', 'GAINING', 'LOSING', 'GIVEN', 'TAKEN'];
const USERS = ['USER', 'GETS', 'LOSES', 'POINTS', 'BOARDS', 'STATUS', 'REASON'];

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
    ]),
    ...figures.points.map(({ key, gaining: gains, losing: loses, given, taken }) => [key, gains, loses, given, taken]),
    ...figures.boards.map(({ key, gaining: gains, losing: loses }) => [`${key} (board)`, gains, loses, null, null]),
  ];
  const some: RecomputedUser[] = [];
  for (const user of [...samples.gaining, ...samples.losing, ...samples.left])
    if (!some.some(({ userId }) => userId === user.userId)) some.push(user);
  return [
    `${id}  ${status}\n`,
    `${counted(users, 'user')}: ${gaining} ${gaining === 1 ? 'gains' : 'gain'}, ${losing} ${losing === 1 ? 'loses' : 'lose'}, ` +
      `${unchanged} unchanged, ${failed} not planned because of an error.\n`,
    applied + reverted + skipped === 0 ? '' : `Applied: ${applied}, reverted: ${reverted}, left out: ${skipped}.\n`,
    rows.length === 0 ? '' : `\n${tableText(HEAD, rows)}`,
    some.length === 0 ? '' : `\n${tableText(USERS, some.map(userRow))}`,
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
