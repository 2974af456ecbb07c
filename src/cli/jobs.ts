import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { ShownJob } from '../domain/job.ts';
import { askAdmin, withAdminOptions, type AdminOptions } from './admin-api.ts';
import { CommandError } from './command-error.ts';
import { progressBar } from './progress.ts';
import { jsonText, tableText } from './table.ts';
import { wholeNumber } from './whole-number.ts';

const HEAD = ['ID', 'KIND', 'ABOUT', 'STATUS', 'PROGRESS', 'REQUESTED', 'ERROR'];
const LOOK_MS = 500;

interface ListOptions extends AdminOptions {
  kind?: string;
  status?: string;
  limit: number;
  json?: boolean;
}

/** Adds `laurel jobs …`: long work in the background. */
export function addJobs(laurel: Command): void {
  const jobs = laurel
    .command('jobs')
    .description('Long work in the background: how far it is; cancel it, or run it again');
  withAdminOptions(jobs.command('list'))
    .description('the latest jobs, newest first')
    .option('--kind <kind>', 'only of this kind, for example backdating')
    .option('--status <status>', 'only with this status: waiting, running, done, failed or cancelled')
    .option('--limit <n>', 'at most so many, up to 100', wholeNumber, 20)
    .option('--json', 'as JSON')
    .action(list);
  withAdminOptions(jobs.command('cancel'))
    .description('cancel a job; what it has done stays')
    .argument('<id>', 'of the job')
    .action(async (id: string, options: AdminOptions) => {
      process.stdout.write(tableText(HEAD, [row(await change(options, id, 'cancel'))]));
    });
  withAdminOptions(jobs.command('retry'))
    .description('run a job again that failed or was cancelled, or at once if it waits after an error')
    .argument('<id>', 'of the job')
    .option('--wait', 'end when the job does')
    .action(async (id: string, { wait = false, ...options }: AdminOptions & { wait?: boolean }) => {
      const begun = await change(options, id, 'retry');
      const job = wait ? await untilFinished(options, begun) : begun;
      process.stdout.write(tableText(HEAD, [row(job)]));
      if (job.status === 'failed') throw new CommandError(`The job failed: ${job.error ?? 'unknown'}`);
    });
}

async function list({ kind, status, limit, json, ...options }: ListOptions): Promise<void> {
  const query = new URLSearchParams({ limit: String(limit), ...(kind && { kind }), ...(status && { status }) });
  const jobs = (await askAdmin(options, { method: 'GET', path: `/v1/jobs?${query.toString()}` })) as ShownJob[];
  if (json === true) process.stdout.write(jsonText(jobs));
  else process.stdout.write(jobs.length === 0 ? 'There is no such job.\n' : tableText(HEAD, jobs.map(row)));
}

const pathOf = (id: string): string => `/v1/jobs/${encodeURIComponent(id)}`;

const change = async (options: AdminOptions, id: string, action: 'cancel' | 'retry'): Promise<ShownJob> =>
  (await askAdmin(options, { method: 'POST', path: `${pathOf(id)}/${action}` })) as ShownJob;

async function untilFinished(options: AdminOptions, begun: ShownJob): Promise<ShownJob> {
  const report = progressBar();
  let job = begun;
  while (job.finished === null) {
    report({ step: job.kind, ...job.progress });
    await sleep(LOOK_MS);
    job = (await askAdmin(options, { method: 'GET', path: pathOf(job.id) })) as ShownJob;
  }
  report(null);
  return job;
}

const row = ({ id, kind, subject, status, progress, requested, error }: ShownJob): (string | null)[] => [
  id,
  kind,
  subject === null ? null : (subject.name ?? subject.id),
  status,
  `${progress.done}${progress.total === null ? '' : ` of ${progress.total}`}`,
  requested,
  error,
];
